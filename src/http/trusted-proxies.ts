import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Reverse proxies whose words about their clients are believed. */
export interface TrustedProxies {
  has(address: string): boolean
}

export function createTrustedProxies(written: readonly string[]): TrustedProxies {
  const list = new BlockList()
  for (const network of written) {
    const [address = '', bits] = network.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return { has: (address) => list.check(address, familyOf(address)) }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

export const withoutZone = (address: string): string => address.replace(/%.*$/, '')

/** Whether TLS ends in front of this server, by the word of the proxy that stands there. */
export function saysHttps(proxies: TrustedProxies, { socket, headers }: IncomingMessage): boolean {
  if (socket.remoteAddress === undefined || !proxies.has(withoutZone(socket.remoteAddress))) return false
  // Where there are several, the one next to us has spoken last.
  const said = String(headers['x-forwarded-proto'] ?? '').split(',')
  return said.at(-1)?.trim().toLowerCase() === 'https'
}
