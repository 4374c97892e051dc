import type { NanoUsd } from './money.ts'
import type { PrefixBreak } from './prefix-break.ts'
import type { MeteredUsage, Price, PricedValues } from './price.ts'
import type { CompactedTokens } from './turn.ts'

/** How a turn ended, as in its receipt, the log and the metrics. */
export type TurnOutcome =
  | 'completed'
  | 'client_gone'
  | 'upstream_failed'
  | 'drained'
  | 'ledger_unavailable'
  | 'internal_error'
  /** Its process died, or a fault of ours lost it, so that recovery resolved its hold. */
  | 'recovered'

/**
 * The whole end of a turn. It goes into the receipt, beside a kept answer, into the journal while the ledger cannot be
 * written, and into the log. Only `kept` changes on the way.
 */
export interface Ending {
  readonly outcome: TurnOutcome
  /** Undefined: the hold is released, and the turn costs nothing. */
  readonly owed: Owed | undefined
  /** The lane that answered, or the last one that was tried. */
  readonly lane: string | undefined
  readonly attempts: readonly Attempt[]
  /** Until the first content could leave; for a JSON answer, until the whole answer had come. */
  readonly firstByteMs: number | undefined
  readonly totalMs: number
  /** For a turn that has compacted a conversation. */
  readonly compaction: CompactedTokens | undefined
  /** A repeated request with the same idempotency key may get the answer. Always false beside the answer itself. */
  readonly kept: boolean
}

/** What a turn costs. The charge never exceeds its hold. */
export interface Owed {
  readonly usage: MeteredUsage
  /** The threshold of the applied tier, 0 for the base price. */
  readonly tier: number
  readonly cost: NanoUsd
  /** The values that multiplied the price. */
  readonly values?: PricedValues
}

/** What the end of an answer reports about money, known only once the settle is durable. */
export interface SettledCharge {
  readonly usage: MeteredUsage
  readonly charge: NanoUsd
  readonly tier: number
  readonly price: Price
  readonly values?: PricedValues | undefined
}

/** One attempt on a lane. A lane that refuses a part of the request may be tried again without it. */
export interface Attempt {
  readonly lane: string
  readonly outcome: string
  readonly status: number | undefined
  readonly ms: number
  /** Tokens cached on the conversation's previous lane, and not on this one. */
  readonly cacheLost?: number
  /** The values that multiplied the price of the client, where they are not those that it asked for. */
  readonly charged?: PricedValues
  /** What its provider charges the operator, in nano-dollars; absent if the lane has no `cost` or nothing was produced. */
  readonly cost?: string
  /** Absent if the prompt begins as that of the turn before it. */
  readonly prefix?: PrefixBreak
}

export const writeEnding = (ending: Ending): string =>
  JSON.stringify(ending, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))

/** Refuses the form of an earlier version, because reading it as this one would end a turn without its charge. */
export function readEnding(text: string): Ending {
  const { owed, ...ending } = JSON.parse(text) as Ending & { readonly owed?: Owed }
  if (ending.outcome === undefined || 'usage' in ending || 'ending' in ending)
    throw new Error('The end of a turn was written in a form that this version does not read')
  return { ...ending, owed: owed && { ...owed, cost: BigInt(owed.cost) as NanoUsd } }
}
