import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Whose request it is; undefined once the connection has gone. */
export type FindClientAddress = (request: IncomingMessage) => string | undefined

/**
 * The socket's address, unless that is a proxy which is trusted: then whom it names, and so on from right to left, because
 * each proxy adds its client at the end. Whatever stands left of the first one that is not trusted may be invented.
 */
export function createFindClientAddress(trustedProxies: readonly string[]): FindClientAddress {
  const proxies = networksOf(trustedProxies)
  return ({ socket, headers }) => {
    if (socket.remoteAddress === undefined) return undefined
    let client = withoutZone(socket.remoteAddress)
    // From anybody else the header is not even read: it may be long.
    if (!isIn(proxies, client)) return client
    // Node has joined the lines of this header.
    const named = String(headers['x-forwarded-for'] ?? '').split(',')
    while (isIn(proxies, client)) {
      const before = readAddress(named.pop() ?? '')
      if (before === undefined) return client
      client = before
    }
    return client
  }
}

function networksOf(written: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of written) {
    const [address = '', bits] = network.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

const isIn = (list: BlockList, address: string): boolean => list.check(address, familyOf(address))

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Some proxies add the port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function readAddress(written: string): string | undefined {
  const trimmed = written.trim()
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(trimmed) ?? []
  const address = withoutZone(bracketed ?? dotted ?? trimmed)
  return isIP(address) === 0 ? undefined : address
}

const withoutZone = (address: string): string => address.replace(/%.*$/, '')
