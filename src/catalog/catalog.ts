import type { Secret } from '../lib/secret.ts'
import type { Allowance, Cycle } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import type { Effort, ModelTraits, PromptCache } from '../model/effort.ts'
import type { NanoUsd } from '../model/money.ts'
import type { Price, PriceList } from '../model/price.ts'
import type { StepDown } from '../model/step-down.ts'
import type { Wire } from '../model/wire.ts'

/** A provider that lanes run on. */
export interface Upstream {
  readonly id: string
  readonly wire: Wire
  /** Names the server's known deviations from its wire: a row of the wire's dialects. */
  readonly dialect: string
  readonly baseUrl: string | undefined
  /** The API version, if a header names it; undefined: the wire's default. */
  readonly apiVersion: string | undefined
  readonly apiKey: Secret | undefined
  readonly allowPrivate: boolean
  readonly timeouts: UpstreamTimeouts
  /** Extra headers for every call. Values may be credentials. */
  readonly headers: ReadonlyMap<string, Secret>
  readonly disconnectPolicy: DisconnectPolicy
  /** What an Anthropic server shall do with thinking that is bound to another prefix. */
  readonly prefixMismatch: PrefixMismatch
  /** It gets the ids of the trace, when there is one. */
  readonly traceContext: boolean
}

/**
 * What happens to a call after its client disconnects. `cancel_estimate`, the default: cancel it and charge the input and the output so
 * far. `drain`: read on for a while and charge the provider's usage. `cancel_free`: cancel it and charge nothing.
 */
export type DisconnectPolicy = 'cancel_estimate' | 'drain' | 'cancel_free'

/** `refuse`, the default: it answers 400. `drop`: it is told to leave such thinking out. */
export type PrefixMismatch = 'refuse' | 'drop'

/** How long each phase of a call may take. */
export interface UpstreamTimeouts {
  /** Until the connection is established, DNS lookup and TLS handshake included. */
  readonly connectTimeoutMs: number
  /** Until the head of a stream. */
  readonly firstByteTimeoutMs: number
  /** Until the head of a non-streamed response. */
  readonly jsonAnswerTimeoutMs: number
  /** Between two bytes. */
  readonly idleTimeoutMs: number
  /** Between two pieces of content. */
  readonly noProgressTimeoutMs: number
  readonly totalTimeoutMs: number
}

/** One way to run a model: a provider and its name for the model. */
export interface Lane {
  /** `upstream/model`, as in logs, receipts and messages. */
  readonly id: string
  readonly upstream: Upstream
  readonly model: string
  /** Equal for lanes with the same provider, model and credential: they can open each other's seals. */
  readonly origin: string
  /** Lower is tried first. */
  readonly priority: number
  readonly weight: number
  /** Known capabilities of the model; its dialect assumes the rest. */
  readonly traits: Partial<ModelTraits>
  /** Capabilities from the configuration, which override the snapshot. */
  readonly listedTraits: Partial<ModelTraits>
  readonly promptCache: PromptCache
  /** What the provider charges the operator; undefined: unknown. */
  readonly cost: PriceList | undefined
}

export interface Model {
  readonly id: string
  /** The import of the configuration that named it; undefined for an entry of its own. */
  readonly importedFrom?: string | undefined
  readonly ownedBy: string
  /** Seconds since 1970, as the model list shows it. */
  readonly createdAt: number
  readonly description?: string | undefined
  /** Undefined: any effort is passed on. Empty: any effort is refused. */
  readonly efforts: readonly Effort[] | undefined
  /** Accepted input types. */
  readonly inputs: readonly string[]
  /** The most tokens that one part can count for, for every input but text. */
  readonly inputTokensMax: Readonly<Partial<Record<'image' | 'file', number>>>
  readonly contextTokens: number
  readonly maxOutputTokens: number
  /** For estimates when a provider reports no usage. */
  readonly bytesPerToken: number
  readonly choicesMax: number
  /** Undefined: a request that its money does not cover is refused. */
  readonly stepDown?: StepDown | undefined
  /** An answer with a tool call whose arguments are not JSON is asked for once more, and a call is sent when it is complete. */
  readonly retriesBrokenArguments?: boolean | undefined
  /** Undefined: the operator has set no price, so the model cannot be called. */
  readonly price: Price | undefined
  /** A price that takes effect within the next seconds. */
  readonly nextPrice?: DatedPrice | undefined
  /** The price before the one that a date has brought, for requests that began before that date. */
  readonly formerPrice?: DatedPrice | undefined
  readonly kinds: readonly KeyKind[]
  readonly passFields: readonly string[]
  readonly lanes: readonly Lane[]
}

/** A price from a date on, or until then. */
export interface DatedPrice {
  /** Milliseconds since 1970, of ledger time. */
  readonly at: number
  readonly price: Price
}

/** The price of a request that began at a time, however long its body was on the way. */
export function priceAt(
  price: Price,
  { nextPrice, formerPrice }: Pick<Model, 'nextPrice' | 'formerPrice'>,
  startedMs: number,
): Price {
  if (nextPrice !== undefined && startedMs >= nextPrice.at) return nextPrice.price
  return formerPrice !== undefined && startedMs < formerPrice.at ? formerPrice.price : price
}

/** An id that clients may use: a model, or a model with its effort fixed by a suffix. */
export interface CatalogEntry {
  readonly id: string
  readonly model: Model
  readonly suffixEffort: Effort | undefined
}

/** What a Builder subscription grants: models, and an allowance per window. */
export interface Plan {
  readonly id: string
  /** Ids and globs, as in a key's list. */
  readonly models: readonly string[]
  readonly windows: readonly Allowance[]
}

/** Everything that can be called, by id. Rebuilt from the configuration, never edited. */
export interface Catalog {
  readonly entries: ReadonlyMap<string, CatalogEntry>
  readonly models: readonly Model[]
  readonly plans: ReadonlyMap<string, Plan>
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/**
 * The name identifies a window: `7d` and `168h` are the same, `7d` and `week` are not. An account that changes its plan keeps
 * the windows that both plans have.
 */
export function windowName(cycle: Cycle): string {
  if (cycle.kind !== 'anchored') return cycle.kind
  const [unit, ms] = UNITS.find(([, length]) => cycle.ms % length === 0) ?? (['ms', 1] as const)
  return `${cycle.ms / ms}${unit}`
}

export function planWindow(cycle: Cycle, amount: NanoUsd): Allowance {
  const name = windowName(cycle)
  return { subject: `window:${name}`, unit: 'quota', name, cycle, amount }
}
