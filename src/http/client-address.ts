import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { type TrustedProxies, withoutZone } from './trusted-proxies.ts'

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
