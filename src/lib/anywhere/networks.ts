const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const IPV4 = new RegExp(`^${BYTE}(?:\\.${BYTE}){3}$`)

/**
 * An address or a network (`10.0.0.0/8`, `2001:db8::/32`) in its one spelling: without host bits, an IPv4-mapped address as IPv4, a whole
 * address without its length. Undefined if it is neither.
 */
export function readNetwork(written: string): string | undefined {
  const [, address = '', length] = /^([\d.a-f:]+)(?:\/(\d{1,3}))?$/.exec(written.trim().toLowerCase()) ?? []
  const value = IPV4.test(address) ? BigInt(`0x${hexOfIpv4(address)}`) : valueOfIpv6(address)
  if (value === undefined) return undefined
  const width = IPV4.test(address) ? 32 : 128
  const bits = Number(length ?? width)
  if (bits > width) return undefined
  const hostBits = BigInt(width - bits)
  const network = (value >> hostBits) << hostBits
  if (width === 32) return withLength(dotted(network), bits, 32)
  if (bits >= 96 && network >> 32n === 0xffffn) return withLength(dotted(network & 0xffffffffn), bits - 96, 32)
  const hex = network
    .toString(16)
    .padStart(32, '0')
    .replace(/(.{4})(?!$)/g, '$1:')
  return withLength(new URL(`http://[${hex}]`).hostname.slice(1, -1), bits, 128)
}

const hexOfIpv4 = (address: string): string =>
  address
    .split('.')
    .map((byte) => Number(byte).toString(16).padStart(2, '0'))
    .join('')

/** Undefined if it is no address. */
function valueOfIpv6(address: string): bigint | undefined {
  const url = `http://[${address}]`
  if (!address.includes(':') || !URL.canParse(url)) return undefined
  // The parser has written the last two groups of a mapped address as hexadecimal too.
  const [head = [], tail = []] = new URL(url).hostname
    .slice(1, -1)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')))
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  return BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`)
}

const dotted = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')

const withLength = (address: string, bits: number, width: number): string =>
  bits === width ? address : `${address}/${bits}`
