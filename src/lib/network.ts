import { isIP, isIPv4 } from 'node:net'

/** Whether only this machine can reach an address that a server binds to. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

/** The host of a URL, by which nobody but this machine is ever reached: no name server can have it point elsewhere. */
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name)

/** Where a person on this machine reaches it: what listens everywhere is reached at the loopback address. */
export function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return isIP(host) === 6 ? `http://[${host}]:${port}` : `http://${host}:${port}`
}

/**
 * What one client has to itself: an IPv4 address, or the 64 bits of an IPv6 network, in which a single machine may take
 * any address it likes. IPv4 in IPv6's clothes, as a socket that serves both tells it, is the same client as without.
 */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535') return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The eight groups of an IPv6 address that is known to be one. */
function groupsOf(address: string): number[] {
  const [start = '', end = ''] = address.split('::')
  const head = groupsIn(start)
  const tail = groupsIn(end)
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

const groupsIn = (part: string): number[] =>
  part === ''
    ? []
    : part.split(':').flatMap((group) => (group.includes('.') ? dotted(group) : Number.parseInt(group, 16)))

function dotted(group: string): number[] {
  const [first = 0, second = 0, third = 0, fourth = 0] = group.split('.').map(Number)
  return [first * 256 + second, third * 256 + fourth]
}
