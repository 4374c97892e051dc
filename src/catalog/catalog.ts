import type { Secret } from '../lib/secret.ts'
import type { Allowance, Cycle } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import type { Effort, ModelTraits, PromptCache } from '../model/effort.ts'
import type { Wire } from '../model/event.ts'
import type { NanoUsd } from '../model/money.ts'
import type { Price } from '../model/price.ts'

/** A provider that lanes run on. */
export interface Upstream {
  readonly id: string
  readonly wire: Wire
  /** Names the server's known oddities, which are data: a row of the `dialects.ts` of its wire. */
  readonly dialect: string
  readonly baseUrl: string | undefined
  /** The version of its interface, where a header names it; undefined: the one that the wire was built for. */
  readonly apiVersion: string | undefined
  readonly apiKey: Secret | undefined
  readonly allowPrivate: boolean
  readonly timeouts: UpstreamTimeouts
  /** What every call carries besides its own headers. Values may be credentials. */
  readonly headers: ReadonlyMap<string, Secret>
  /** What happens to a call whose client hangs up. */
  readonly disconnectPolicy: DisconnectPolicy
}

/**
 * `cancel_estimate`: the provider is cut, input and what it produced are charged. `drain`: it is read on without the client
 * for a while, and what it counts is charged. `cancel_free`: it is cut, and nothing is charged.
 */
export type DisconnectPolicy = 'cancel_estimate' | 'drain' | 'cancel_free'

/** How long each phase of a call may take. */
export interface UpstreamTimeouts {
  /** Until the connection stands, the look-up of the name and the TLS handshake included. */
  readonly connectMs: number
  /** Until the head of a stream. */
  readonly firstByteMs: number
  /** Until the head of an answer in one piece. */
  readonly jsonAnswerMs: number
  /** Between two bytes. */
  readonly idleMs: number
  /** Between two bytes that are more than a sign of life. */
  readonly noProgressMs: number
  readonly totalMs: number
}

/** One way to run a model: a provider and the name it knows the model by. */
export interface Lane {
  /** `upstream/model`: how logs, receipts and messages name it. */
  readonly id: string
  readonly upstream: Upstream
  readonly model: string
  /** The same wherever the same provider is asked for the same model with the same credential: who seals can open. */
  readonly origin: string
  /** Lower is tried first. */
  readonly priority: number
  readonly weight: number
  /** What is known of how this model wants to be asked; for the rest its dialect's assumption stands. */
  readonly traits: Partial<ModelTraits>
  /** What of it the operator has written: it goes before the facts of the snapshot. */
  readonly listedTraits: Partial<ModelTraits>
  /** What its provider is asked to keep of a prompt, where it has to be asked. */
  readonly promptCache: PromptCache
}

export interface Model {
  readonly id: string
  readonly ownedBy: string
  /** Seconds since 1970, as the model list shows it. */
  readonly createdAt: number
  readonly description?: string | undefined
  /** Undefined: any effort is forwarded. Empty: the model has none, any effort is refused. */
  readonly efforts: readonly Effort[] | undefined
  /** What it reads: text, and parts of these kinds. */
  readonly inputs: readonly string[]
  /** The most tokens that one part can count for; there is one for every input but text. */
  readonly inputTokensMax: Readonly<Partial<Record<'image' | 'file', number>>>
  readonly contextTokens: number
  readonly maxOutputTokens: number
  /** For estimates where a provider reports nothing. */
  readonly bytesPerToken: number
  readonly choicesMax: number
  /** Undefined: the operator has set no price, so nobody may call it: what it costs would be a guess. */
  readonly price: Price | undefined
  readonly kinds: readonly KeyKind[]
  readonly passFields: readonly string[]
  readonly lanes: readonly Lane[]
}

/** One id that a client may write: a model, or a model with its effort fixed by a registered suffix. */
export interface CatalogEntry {
  readonly id: string
  readonly model: Model
  readonly suffixEffort: Effort | undefined
}

/** What a Builder subscription grants: models, and what may be used of them in each of its windows. */
export interface Plan {
  readonly id: string
  /** Ids and globs, in the same language as a key's list. */
  readonly models: readonly string[]
  readonly windows: readonly Allowance[]
}

/** Everything that can be called, by every id it goes by. Rebuilt whole from the configuration, never edited. */
export interface Catalog {
  readonly entries: ReadonlyMap<string, CatalogEntry>
  readonly models: readonly Model[]
  /** What Builder subscriptions may be on, by id. */
  readonly plans: ReadonlyMap<string, Plan>
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/**
 * What a window is called, and with it which ones are the same: `7d` and `168h` are one window, `7d` and `week` are two.
 * An account that changes to another plan goes on with the windows that both have.
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
