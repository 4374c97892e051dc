import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { buildConnector } from 'undici'
import type { Upstream } from '../catalog/catalog.ts'
import { letPausedAnswersEnd } from './end-paused-answer.ts'
import { refusalOfAddress } from './guard-address.ts'

/** All addresses of a name, in the order in which they should be tried. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>

export interface ConnectorDeps {
  readonly resolve: ResolveHost
  readonly buildConnector: typeof buildConnector
  /** Certificates to trust besides the system's. */
  readonly ca?: string
}

/** The address may not be connected to; nothing was sent. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly code = 'ADDRESS_REFUSED'
}

/** What a socket may read ahead. Of more than this, the library's own choice, each client that does not read holds a second read. */
const READ_AHEAD_BYTES = 16 * 1024

/** Tried one after another, each for this long: a provider may be further away than the 250 ms that Node gives by itself. */
const ADDRESS_ATTEMPT_MS = 1000

/**
 * Opens connections to one upstream and to nobody else: the name is resolved once for each, every address is judged, and
 * the socket is given just those, so that a second answer of the name server has no say.
 */
export function createGuardedConnector(deps: ConnectorDeps, upstream: Upstream): buildConnector.connector {
  const connect = deps.buildConnector({
    timeout: upstream.timeouts.connectMs,
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    lookup: createGuardedLookup(deps, upstream),
    highWaterMark: READ_AHEAD_BYTES,
    // Said aloud, because an environment variable could turn it off for the whole process.
    rejectUnauthorized: true,
    ...(deps.ca === undefined ? {} : { ca: deps.ca }),
  } as buildConnector.BuildOptions)
  return (options, callback) => {
    // A socket looks up names only: what is an address already is judged here.
    const refusal = isIP(options.hostname) === 0 ? undefined : refusalOfAddress(options.hostname, upstream)
    if (refusal !== undefined) return callback(new AddressRefused(`The address of ${upstream.id} ${refusal}`), null)
    connect(options, (...connected) => {
      const [, socket] = connected
      if (socket) letPausedAnswersEnd(socket)
      callback(...connected)
    })
  }
}

function createGuardedLookup({ resolve }: ConnectorDeps, upstream: Upstream): LookupFunction {
  return (hostname, options, callback) => {
    judged(hostname).then(
      ([first, ...others]) => {
        if (options.all === true) callback(null, [first, ...others])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }

  async function judged(hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> {
    const [first, ...others] = await resolve(hostname)
    if (first === undefined) throw new AddressRefused(`The name of ${upstream.id} has no address`)
    for (const { address } of [first, ...others]) {
      const refusal = refusalOfAddress(address, upstream)
      // One bad address among good ones is how a name server probes: none of them is used.
      if (refusal !== undefined) throw new AddressRefused(`An address of ${upstream.id} ${refusal}`)
    }
    return [first, ...others]
  }
}

/** As the machine resolves names, its hosts file included. */
export const resolveHost: ResolveHost = (host) => lookup(host, { all: true })
