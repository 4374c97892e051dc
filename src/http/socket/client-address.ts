import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Whose request it is; undefined once the connection has gone. */
export type FindClientAddress = (request: IncomingMessage) => string | undefined

/**
 * The socket's address, unless that is a proxy which is trusted: then whom it names, and so on from right to left, because
 * each proxy adds its client at the end. Whatever stands left of the first one that is not trusted may be invented.
 */
export function createFindClientAddress(proxies: TrustedProxies): FindClientAddress {
  return ({ socket, headers }) => {
    if (socket.remoteAddress === undefined) return undefined
    let client = withoutZone(socket.remoteAddress)
    // From anybody else the header is not even read: it may be long.
    if (!proxies.has(client)) return client
    // Node has joined the lines of this header.
    const named = String(headers['x-forwarded-for'] ?? '').split(',')
    while (proxies.has(client)) {
      const before = readAddress(named.pop() ?? '')
      if (before === undefined) return client
      client = before
    }
    return client
  }
}

/** Some proxies add the port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function readAddress(written: string): string | undefined {
  const trimmed = written.trim()
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(trimmed) ?? []
  const address = withoutZone(bracketed ?? dotted ?? trimmed)
  return isIP(address) === 0 ? undefined : address
}

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

const withoutZone = (address: string): string => address.replace(/%.*$/, '')

/** Whether TLS ends in front of this server, by the word of the proxy that stands there. */
export function saysHttps(proxies: TrustedProxies, { socket, headers }: IncomingMessage): boolean {
  if (socket.remoteAddress === undefined || !proxies.has(withoutZone(socket.remoteAddress))) return false
  // Where there are several, the one next to us has spoken last.
  const said = String(headers['x-forwarded-proto'] ?? '').split(',')
  return said.at(-1)?.trim().toLowerCase() === 'https'
}
