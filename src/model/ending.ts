import type { NanoUsd } from './money.ts'
import type { MeteredUsage, Price } from './price.ts'
import type { CompactedTokens } from './turn.ts'

/** How a turn ended, in the word that its receipt, the log and the metrics have for it. */
export type TurnOutcome =
  | 'completed'
  | 'client_gone'
  | 'upstream_failed'
  | 'drained'
  | 'ledger_unavailable'
  | 'internal_error'
  /** Nobody can be asked any more: its process died, or a fault of ours lost it. */
  | 'recovered'

/**
 * The end of a turn, whole. It is made once, and goes into the books and the receipt, beside an answer that is kept,
 * into the journal while the books cannot be written, and into the log. Only `kept` changes on the way.
 */
export interface Ending {
  readonly outcome: TurnOutcome
  /** Without it the hold is given back, and the turn costs nothing. */
  readonly owed: Owed | undefined
  /** The lane that answered, or the last that was tried. */
  readonly lane: string | undefined
  readonly attempts: readonly Attempt[]
  readonly firstByteMs: number | undefined
  readonly totalMs: number
  /** Of a turn that has made a conversation short. */
  readonly compaction: CompactedTokens | undefined
  /** Whoever asks again with the same idempotency key may be given the answer. Beside the answer itself it is always false. */
  readonly kept: boolean
}

/** What a turn costs; what is charged for it is never more than its hold. */
export interface Owed {
  readonly usage: MeteredUsage
  /** Threshold of the tier that applied, 0 for the base price. */
  readonly tier: number
  readonly cost: NanoUsd
}

/** What the end of an answer tells about money; known only once the settle is durable. */
export interface SettledCharge {
  readonly usage: MeteredUsage
  readonly charge: NanoUsd
  readonly tier: number
  readonly price: Price
}

/** One time that a lane was asked. One that does not take a part of the request may be asked again, without it. */
export interface Attempt {
  readonly lane: string
  readonly outcome: string
  readonly status: number | undefined
  readonly ms: number
  /** Tokens that stood in the cache of the lane which the conversation was on before, and not in this one's. */
  readonly cacheLost?: number
}

export const writeEnding = (ending: Ending): string =>
  JSON.stringify(ending, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))

/** Our own words. Those of a former version are refused: taken for these they would end a turn without its charge. */
export function readEnding(text: string): Ending {
  const { owed, ...ending } = JSON.parse(text) as Ending & { readonly owed?: Owed }
  if (ending.outcome === undefined || 'usage' in ending || 'ending' in ending)
    throw new Error('The end of a turn was written in a form that this version does not read')
  return { ...ending, owed: owed && { ...owed, cost: BigInt(owed.cost) as NanoUsd } }
}
