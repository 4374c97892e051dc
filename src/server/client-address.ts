import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Who is at the other end of a request, as far as the reverse proxies between may be believed. */
export interface Clients {
  /** Whose request it is; undefined once the connection has gone. */
  findClientAddress(request: IncomingMessage): string | undefined
  /** Whether the client's side of it is TLS, which ends in front of this server. */
  saysHttps(request: IncomingMessage): boolean
}

/** `trustedProxies`: addresses and networks of those who are believed. */
export function createClients(trustedProxies: readonly string[]): Clients {
  const trusted = listOf(trustedProxies)
  const isTrusted = (address: string): boolean => trusted.check(address, familyOf(address))
  return {
    /**
     * The socket's address, unless that is a proxy which is trusted: then whom it names, and so on from right to left,
     * because each proxy adds its client at the end. Whatever stands left of the first one that is not trusted may be invented.
     */
    findClientAddress({ socket, headers }) {
      if (socket.remoteAddress === undefined) return undefined
      let client = withoutZone(socket.remoteAddress)
      // From anybody else the header is not even read: it may be long.
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
    saysHttps({ socket, headers }) {
      if (socket.remoteAddress === undefined || !isTrusted(withoutZone(socket.remoteAddress))) return false
      // Where there are several, the one next to us has spoken last.
      const said = String(headers['x-forwarded-proto'] ?? '').split(',')
      return said.at(-1)?.trim().toLowerCase() === 'https'
    },
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

/** Some proxies add the port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function readAddress(written: string): string | undefined {
  const trimmed = written.trim()
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(trimmed) ?? []
  const address = withoutZone(bracketed ?? dotted ?? trimmed)
  return isIP(address) === 0 ? undefined : address
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

const withoutZone = (address: string): string => address.replace(/%.*$/, '')
