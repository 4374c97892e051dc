import { BlockList, isIP, isIPv4 } from 'node:net'

/** Whether only this machine can reach an address that a server binds to. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

/** Whether a host of a URL always means this machine: no name server can change that. */
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name)

/** The URL for a person on this machine. A wildcard address is reached at the loopback address. */
export function urlOf(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  if (host === '0.0.0.0') return `${scheme}://127.0.0.1:${port}`
  if (host === '::') return `${scheme}://[::1]:${port}`
  return isIP(host) === 6 ? `${scheme}://[${host}]:${port}` : `${scheme}://${host}:${port}`
}

/**
 * The network of one client: an IPv4 address, or the /64 of an IPv6 address, in which one machine may take any address. An
 * IPv4-mapped IPv6 address is the IPv4 address.
 */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535') return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = [], tail = []] = address.split('::').map(groupsIn)
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

function groupsIn(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return Number.parseInt(group, 16)
    const [first = 0, second = 0, third = 0, fourth = 0] = group.split('.').map(Number)
    return [first * 256 + second, third * 256 + fourth]
  })
}

/** A list of addresses and networks, compiled: one look-up takes less than a microsecond. */
export interface Networks {
  /** Also for an IPv4-mapped IPv6 address in a network of IPv4. */
  has(address: string): boolean
}

export function createNetworks(written: readonly string[]): Networks {
  const list = new BlockList()
  for (const network of written) {
    const [address = '', bits] = network.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return { has: (address) => isIP(address) !== 0 && list.check(address, familyOf(address)) }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
