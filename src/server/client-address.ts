import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { createNetworks } from '../lib/network.ts'

/** The client of a request, as far as the reverse proxies in between are trusted. */
export interface Clients {
  /** Undefined once the connection has closed. */
  findClientAddress(request: IncomingMessage): string | undefined
  /** Whether the client uses TLS, which ends here or at a proxy in front of this server. */
  isHttps(request: IncomingMessage): boolean
}

/** `trustedProxies`: addresses and networks. */
export function createClients(trustedProxies: readonly string[]): Clients {
  const { has: isTrusted } = createNetworks(trustedProxies)
  return {
    /**
     * The socket's address, unless that is a trusted proxy: then the address that it adds to X-Forwarded-For, and so on from right
     * to left, because each proxy adds its client at the end. A client can invent everything left of the first untrusted address.
     */
    findClientAddress({ socket, headers }) {
      if (socket.remoteAddress === undefined) return undefined
      let client = withoutZone(socket.remoteAddress)
      // An untrusted client's header is not read, because it may be long.
      if (!isTrusted(client)) return client
      // Node has joined the lines of this header.
      const named = String(headers['x-forwarded-for'] ?? '').split(',')
      while (isTrusted(client)) {
        const before = readAddress(named.pop() ?? '')
        if (before === undefined) return client
        client = before
      }
      return client
    },
    isHttps({ socket, headers }) {
      const isOwn = 'encrypted' in socket && socket.encrypted === true
      if (socket.remoteAddress === undefined || !isTrusted(withoutZone(socket.remoteAddress))) return isOwn
      const named = headers['x-forwarded-proto']
      if (named === undefined) return isOwn
      // The nearest proxy adds the last one.
      return String(named).split(',').at(-1)?.trim().toLowerCase() === 'https'
    },
  }
}

/** Some proxies add the port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function readAddress(written: string): string | undefined {
  const trimmed = written.trim()
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(trimmed) ?? []
  const address = withoutZone(bracketed ?? dotted ?? trimmed)
  return isIP(address) === 0 ? undefined : address
}

const withoutZone = (address: string): string => address.replace(/%.*$/, '')
