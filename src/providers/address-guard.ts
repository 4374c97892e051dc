import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'

/**
 * Which addresses a provider may have. The operator writes names, and a foreign name server resolves them: so every resolved
 * address is checked, and the connection goes to a checked one.
 */
interface AddressRules {
  readonly allowPrivate: boolean
}

type Range = readonly [network: string, prefix: number]

/** Private networks: only for upstreams with `allow_private`. */
const PRIVATE_V4: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
]
const PRIVATE_V6: readonly Range[] = [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  // A network's own NAT64 prefix: where the address inside stands differs, so all of it is taken for private.
  ['64:ff9b:1::', 48],
]

/**
 * Metadata services, which give credentials to any caller: of machines (all clouds; Alibaba; Azure; Oracle; IPv6 of AWS and
 * Google) and of containers (AWS).
 */
const METADATA_V4: readonly Range[] = [
  ['169.254.169.0', 24],
  ['169.254.170.0', 24],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
]
const METADATA_V6: readonly Range[] = [
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
]

/** No servers: unspecified (which systems connect to themselves), documentation, multicast, reserved. */
const NOWHERE_V4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['192.0.2.0', 24],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
const NOWHERE_V6: readonly Range[] = [
  ['::', 128],
  ['100::', 64],
  ['2001:db8::', 32],
  ['ff00::', 8],
]

/**
 * Old tunnels whose end cannot be checked: Teredo hides it (RFC 4380), and IPv4-compatible has none. IPv4-translated
 * (`::ffff:0:a.b.c.d`, RFC 2765) is a translator's own. The lists above are checked first.
 */
const TUNNELS_V6: readonly Range[] = [
  ['2001::', 32],
  ['::', 96],
  ['::ffff:0:0:0', 96],
]

const metadata = listOf(METADATA_V4, METADATA_V6)
const nowhere = listOf(NOWHERE_V4, NOWHERE_V6)
const privateOnes = listOf(PRIVATE_V4, PRIVATE_V6)
const tunnels = listOf([], TUNNELS_V6)

/** IPv4 ranges count in every form: plain and mapped (the list does both), translated, behind NAT64, and as 6to4. */
function listOf(v4: readonly Range[], v6: readonly Range[]): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of v4) {
    list.addSubnet(network, prefix, 'ipv4')
    list.addSubnet(`64:ff9b::${network}`, 96 + prefix, 'ipv6')
    list.addSubnet(`::ffff:0:${network}`, 96 + prefix, 'ipv6')
    list.addSubnet(sixToFour(network), 16 + prefix, 'ipv6')
  }
  for (const [network, prefix] of v6) list.addSubnet(network, prefix, 'ipv6')
  return list
}

function sixToFour(v4: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = v4.split('.').map(Number)
  return `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`
}

/** Why this address is refused, as the end of a sentence; undefined if it is not. */
export function refusalOfAddress(address: string, rules: AddressRules): string | undefined {
  const bare = address.replace(/%.*$/, '')
  const version = isIP(bare)
  if (version === 0) return 'is not an address'
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (metadata.check(bare, family)) return 'serves credentials of the machine and is never connected to'
  if (nowhere.check(bare, family)) return 'is unspecified, multicast or reserved'
  if (privateOnes.check(bare, family)) return rules.allowPrivate ? undefined : 'is private: allow_private is not set'
  return tunnels.check(bare, family) ? 'is an address of an old tunnel' : undefined
}

/** Checks a base URL before its name is resolved. */
export function refusalOfBaseUrl(url: URL, rules: AddressRules): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'is neither https nor http'
  if (url.protocol === 'http:' && !rules.allowPrivate) return 'is plain http: allow_private is not set'
  const host = bareHost(url.hostname)
  return isIP(host) === 0 ? undefined : refusalOfAddress(host, rules)
}

/** The host as sockets want it: an IPv6 address without its brackets. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** All addresses of a name, in the order in which they are tried. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>

export interface ConnectorDeps {
  readonly resolve: ResolveHost
  readonly buildConnector: typeof buildConnector
  /** Certificates to trust besides the system's. */
  readonly ca?: string
}

/** The address was refused; nothing was sent. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly code = 'ADDRESS_REFUSED'
}

/** What a socket may read ahead. With undici's larger default, each client that does not read would hold a second read. */
const READ_AHEAD_BYTES = 16 * 1024

/** Addresses are tried one after another. A provider may be further away than Node's default of 250 ms. */
const ADDRESS_ATTEMPT_MS = 1000

/**
 * Opens connections to one upstream only: the name is resolved once for each connection, every address is checked, and the socket
 * gets these addresses, so that a second answer of the name server has no effect.
 */
export function createGuardedConnector(deps: ConnectorDeps, upstream: Upstream): buildConnector.connector {
  const connect = deps.buildConnector({
    timeout: upstream.timeouts.connectTimeoutMs,
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    lookup: createGuardedLookup(deps, upstream),
    highWaterMark: READ_AHEAD_BYTES,
    // Explicit, because an environment variable could turn it off for the whole process.
    rejectUnauthorized: true,
    ...(deps.ca === undefined ? {} : { ca: deps.ca }),
  } as buildConnector.BuildOptions)
  return (options, callback) => {
    // A socket looks up only names: an address is checked here.
    const refusal = isIP(options.hostname) === 0 ? undefined : refusalOfAddress(options.hostname, upstream)
    if (refusal !== undefined) return callback(new AddressRefused(`The address of ${upstream.id} ${refusal}`), null)
    connect(options, (...connected) => {
      const [, socket] = connected
      if (socket) letPausedAnswersEnd(socket)
      callback(...connected)
    })
  }
}

/** Looks up the addresses of a name, and refuses to connect if one of them is not allowed. `id` names the target in messages. */
export function createGuardedLookup(
  { resolve }: Pick<ConnectorDeps, 'resolve'>,
  upstream: Pick<Upstream, 'id' | 'allowPrivate'>,
): LookupFunction {
  return (hostname, options, callback) => {
    checkedAddresses(hostname).then(
      ([first, ...others]) => {
        if (options.all === true) callback(null, [first, ...others])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }

  async function checkedAddresses(hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> {
    const [first, ...others] = await resolve(hostname)
    if (first === undefined) throw new AddressRefused(`The name of ${upstream.id} has no address`)
    for (const { address } of [first, ...others]) {
      const refusal = refusalOfAddress(address, upstream)
      // One refused address among good ones is how an attacker probes: none of them is used.
      if (refusal !== undefined) throw new AddressRefused(`An address of ${upstream.id} ${refusal}`)
    }
    return [first, ...others]
  }
}

/** Resolves names as the machine does, its hosts file included. */
export const resolveHost: ResolveHost = (host) => lookup(host, { all: true })

/** undici's parser, which it keeps at the socket under a symbol of its own. */
interface UndiciParser {
  paused: boolean
  /** Does nothing if it is not paused, or its socket is destroyed. */
  resume(): void
}

/**
 * A provider may close its connection while backpressure pauses its answer. undici then fails an assertion outside of every call,
 * which would end the process (https://github.com/nodejs/undici/issues/5360, fixed only in version 8, which needs a newer Node).
 * So its parser is resumed before it learns of the end: it has all bytes by then. To be called before undici listens to the
 * socket.
 */
function letPausedAnswersEnd(socket: Socket): void {
  const resume = () => {
    const parser = parserOf(socket)
    if (parser === undefined) return
    parser.resume()
    // On a broken socket `resume` does nothing.
    parser.paused = false
  }
  socket.on('end', resume).on('error', resume).on('close', resume)
}

/** Undefined once undici has released the socket. */
function parserOf(socket: Socket): UndiciParser | undefined {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser')
  return symbol === undefined ? undefined : (Reflect.get(socket, symbol) ?? undefined)
}
