import type { CountedInputs, RefusedTurnCounter } from '../admin/count-usage.ts'
import type { JobKeys } from '../admin/job-keys.ts'
import type { OwnerServices } from '../admin/services.ts'
import type { SignInServices } from '../admin/sessions.ts'
import type { SignOn } from '../admin/sign-on.ts'
import type { CallerOutcome, Callers } from '../auth/callers.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { IdempotencyServices, lookUpAnswer } from '../gateway/idempotency.ts'
import type { ReadServices, readTurn } from '../gateway/read-turn.ts'
import type { Runs } from '../gateway/runs.ts'
import type { earlyRefusal, serveTurn } from '../gateway/serve-turn.ts'
import type { TurnServices } from '../gateway/turn.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ByteBudget, SharedByteBudget } from '../lib/bytes.ts'
import type { Clock } from '../lib/clock.ts'
import type { Bag } from '../lib/collections.ts'
import type { LoopStrain } from '../lib/loop-strain.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { AddressLimiter, ConfiguredLimits } from '../limits/limits.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { EstimateErrors } from '../pricing/estimate.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { Clients } from './client-address.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { ConsoleRequest } from './console/handler.ts'
import type { SiteOptions } from './console/site.ts'

/** The gateway's functions, which tests of the edge replace, and the services that all of them take. */
export interface Gateway {
  readonly services: TurnServices & ReadServices & IdempotencyServices & { readonly runs: Runs }
  readonly earlyRefusal: typeof earlyRefusal
  readonly lookUpAnswer: typeof lookUpAnswer
  readonly readTurn: typeof readTurn
  readonly serveTurn: typeof serveTurn
}

/** The running turns and those that have ended. */
export interface TurnCounts {
  running: number
  /** Turns that were admitted and have ended. */
  served: number
  /** Requests of the console that were no turns. */
  console: number
  /** Called when the last running turn has ended. */
  onIdle: (() => void) | undefined
}

/** What the HTTP edge uses of the running program. `app/serving.ts` builds it once. */
export interface EdgeServices {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly options: EdgeOptions
  readonly limiter: ConcurrencyLimiter
  readonly loop: Pick<LoopStrain, 'isLate'>
  readonly log: Pick<Log, 'request'>
  readonly metrics: Pick<Metrics, 'requestEnded' | 'turnEnded'>
  readonly callers: Pick<Callers, 'find' | 'findAgain'>
  /** Keys for CI jobs. */
  readonly jobKeys: JobKeys
  /** Limits requests without a valid key, by address. */
  readonly unauthenticatedLimiter: Pick<AddressLimiter, 'take'>
  readonly ledger: Pick<Ledger, 'gate' | 'limitStatuses' | 'accountStatus' | 'allowanceStatuses'>
  /** Replaced as a whole by a reload. */
  readonly rules: { readonly current: { readonly catalog: Catalog; readonly limits: ConfiguredLimits } }
  readonly responses: Pick<StoredResponses, 'findWithin' | 'events' | 'remove' | 'cancel'>
  readonly gateway: Gateway
  readonly turnCounts: TurnCounts
  readonly estimateErrors: Pick<EstimateErrors, 'note'>
  readonly countedInputs: Pick<CountedInputs, 'note'>
  /** Counts turns that were refused before admission and leave no receipt. */
  readonly refusedTurns: Pick<RefusedTurnCounter, 'note'>
  /** What anyone may know about this server. */
  readonly about: { readonly version: string; readonly publicUrl?: string | undefined }
  /** Undefined unless the configuration has switched traces on. */
  readonly tracing: Pick<Tracing, 'startRequest'> | undefined
  /** Undefined for requests of other accounts too. */
  findReceipt(caller: Caller, requestId: RequestId): Promise<object | undefined>
  /** The services of the use cases behind the management API. */
  readonly admin: OwnerServices
  /** Undefined when the operator has switched the console off. */
  readonly console: EdgeConsole | undefined
  /** Reads the documentation, once. Undefined when the operator has switched it off. */
  readonly docs: (() => Promise<SiteFiles>) | undefined
}

/** What the edge uses to serve the console. */
export interface EdgeConsole {
  readonly site: SiteOptions
  /** Reads the pages, once. */
  readonly files: () => Promise<SiteFiles>
  /** The routes of the console's API: a Hono app. */
  readonly api: { fetch(request: Request, from: ConsoleRequest): Response | Promise<Response> }
  readonly sessions: Pick<SignInServices['sessions'], 'find'>
  readonly devices: Pick<SignInServices['devices'], 'remember'>
  readonly signOn: Pick<SignOn, 'begin' | 'finish'>
  /** Limits requests to the console, by address. */
  readonly addressLimiter: Pick<AddressLimiter, 'take'>
  /** The playground key of a person, or the one that an account shares: the caller of a turn in the playground. */
  findPlaygroundCaller(
    of: { readonly account: AccountRow; readonly person: number | null },
    kind: Caller['kind'],
  ): Promise<CallerOutcome>
}

/** A built site, in memory: about a megabyte. */
export interface SiteFiles {
  /** By the path below the site's own. */
  find(path: string): SiteFile | undefined
  /** The answer for every path that is not a file; undefined without a build. */
  readonly page: SiteFile | undefined
}

export interface SiteFile {
  readonly type: string
  /** Of the plain bytes. Each encoding has a strong ETag of its own (RFC 9110, section 8.8.3.3). */
  readonly digest: string
  /** Its name changes with its content. */
  readonly isImmutable: boolean
  readonly plain: Buffer
  readonly br: Buffer | undefined
  readonly gzip: Buffer | undefined
}

/** The services, with the state that the edge keeps itself. */
export interface EdgeContext extends EdgeServices, Clients {
  readonly heartbeat: Heartbeat
  readonly drain: DrainState
  /** For the bodies of all deliveries to a webhook, which need no key. */
  readonly deliveryMemory: ByteBudget
  /** For the bodies of conversations that people save, by person. */
  readonly conversationMemory: SharedByteBudget
  closeIdleConnections(): void
}

export interface StreamTimes {
  /** The head goes out after this time even without content. */
  readonly headDelayMs: number
  readonly keepAliveMs: number
}

/** One timer for all open streams. It runs only while there is one, and never keeps the process alive. */
export interface Heartbeat {
  /** Silent beats before the head goes out without content. */
  readonly beatsBeforeHead: number
  /** Silent beats before a keep-alive comment. */
  readonly beatsBeforeKeepAlive: number
  /** Each counts the beats in which it wrote nothing. */
  readonly streams: Bag<{ onBeat(): void }>
  isBeating: boolean
  /** Starts the timer, which stops when there is no stream. */
  start(): void
}

/**
 * `announced`: `/readyz` fails and connections close after their answer, but new requests are served, because load balancers
 * need a moment to notice. `refusing`: the listener is closed, and a request on a kept-alive connection gets `server_draining`.
 */
export interface DrainState {
  stage: 'open' | 'announced' | 'refusing'
}

/** The bounds of the edge. The configurable ones have their defaults and reasons in `config`. */
export interface Certificate {
  /** In PEM, with those between it and its authority. */
  readonly cert: string
  readonly key: string
}

export interface EdgeOptions {
  /** The path of the public URL, such as `/llm`. Undefined: none. */
  readonly pathPrefix?: string | undefined
  /** Undefined: plain HTTP. */
  readonly tls?: Certificate | undefined
  readonly connectionsMax: number
  /** Another process accepts the connections, and gives them to the workers. */
  readonly sharesPort?: boolean
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly headerBytesMax: number
  readonly body: BodyBounds
  readonly linger: LingerBounds
  readonly stream: StreamTimes
  /** A client that reads nothing for this long, or up to twice as long, is disconnected. */
  readonly stallMs: number
  /** Web origins, as browsers send them, that may call although they are not loopback. */
  readonly allowedOrigins: readonly string[]
  /** Addresses and networks of reverse proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
}

export interface BodyBounds {
  /** Before and after decompression. */
  readonly bytesMax: number
  /** Decompressed bytes per compressed byte. */
  readonly expansionRatioMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

/** How long a refused client may go on sending before its connection is closed. */
interface LingerBounds {
  readonly timeMs: number
  readonly bytesMax: number
  /** An unread rest of this size is read and dropped, and the connection stays usable. */
  readonly discardBytesMax: number
}

const KiB = 1024
const MiB = 1024 * KiB

/** Bounds that no configuration sets. */
export const LINGER: LingerBounds = { timeMs: 2_000, bytesMax: 16 * MiB, discardBytesMax: 64 * KiB }
export const STALL_MS = 60_000
export const DELIVERY_BYTES = 16 * MiB
export const CONVERSATIONS_BYTES = 64 * MiB
