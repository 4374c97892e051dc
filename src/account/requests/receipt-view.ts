import type { z } from 'zod'
import type { requestItem } from '../../contract/requests.ts'
import type { KeyKind } from '../../model/caller.ts'
import type { Attempt } from '../../model/ending.ts'
import { formatUsd } from '../../model/money.ts'
import type { ReceiptState, ReceiptsTable } from '../../store/tables.ts'
import { isoTime, isoTimeOrNull } from '../moments.ts'

/** What a receipt says about one request, in the spelling of the API. Null: not known (yet), or does not apply. */
export interface ReceiptView {
  readonly id: string
  readonly state: ReceiptState
  readonly outcome: string | null
  readonly model: string
  readonly kind: KeyKind
  readonly currency: 'USD'
  readonly opened_at: string
  readonly closed_at: string | null
  readonly first_byte_ms: number | null
  readonly total_ms: number | null
  readonly tokens: TokensView | null
  /** Of a request that has compacted a conversation. */
  readonly compaction: CompactionView | null
  readonly price_version: number
  /** `above_input_tokens` of the price tier that applied; 0 is the base price. */
  readonly tier: number | null
  readonly output_cap: number
  readonly input_estimate: number
  readonly hold: string
  readonly cost: string | null
  readonly charge: string | null
  /** What the turn cost beyond its hold: it is not charged. */
  readonly shortfall: string | null
}

/** Classes that do not overlap; reasoning is inside output. */
export interface TokensView {
  readonly uncached_input: number
  readonly cached_input: number
  readonly cache_write: number
  readonly output: number
  readonly reasoning: number
  readonly estimated: boolean
}

/** How large the conversation was, and how large what stands in its place is. */
export interface CompactionView {
  readonly tokens_before: number
  readonly tokens_after: number
}

export interface AttemptView {
  readonly lane: string
  readonly outcome: string
  readonly status: number | null
  readonly ms: number
}

export const receiptView = (receipt: ReceiptsTable): ReceiptView => ({
  id: receipt.request_id,
  state: receipt.state,
  outcome: receipt.outcome,
  model: receipt.model,
  kind: receipt.kind,
  currency: 'USD',
  opened_at: isoTime(receipt.opened_at),
  closed_at: isoTimeOrNull(receipt.closed_at),
  first_byte_ms: receipt.first_byte_ms,
  total_ms: receipt.total_ms,
  tokens: tokensView(receipt),
  compaction: compactionView(receipt),
  price_version: receipt.price_version,
  tier: receipt.tier,
  output_cap: receipt.output_cap,
  input_estimate: receipt.input_estimate,
  hold: formatUsd(receipt.hold_nano),
  cost: moneyView(receipt.cost_nano),
  charge: moneyView(receipt.charge_nano),
  shortfall: moneyView(receipt.shortfall_nano),
})

type StoredAttempts = Pick<ReceiptsTable, 'attempts'>

const attemptsOf = ({ attempts }: StoredAttempts): Attempt[] =>
  attempts === null ? [] : (JSON.parse(attempts) as Attempt[])

export const cacheLostOf = (receipt: StoredAttempts): number =>
  attemptsOf(receipt).reduce((sum, { cacheLost = 0 }) => sum + cacheLost, 0)

export const attemptsView = (receipt: StoredAttempts): AttemptView[] =>
  attemptsOf(receipt).map(({ lane, outcome, status, ms }) => ({ lane, outcome, status: status ?? null, ms }))

const moneyView = (amount: bigint | null): string | null => (amount === null ? null : formatUsd(amount))

function tokensView(receipt: ReceiptsTable): TokensView | null {
  if (receipt.output === null) return null
  return {
    uncached_input: receipt.uncached_input ?? 0,
    cached_input: receipt.cached_input ?? 0,
    cache_write: receipt.cache_write ?? 0,
    output: receipt.output,
    reasoning: receipt.reasoning ?? 0,
    estimated: receipt.estimated === 1,
  }
}

function compactionView({ tokens_before, tokens_after }: ReceiptsTable): CompactionView | null {
  return tokens_before === null || tokens_after === null ? null : { tokens_before, tokens_after }
}

/** A request as the lists of the console have it. */
export type RequestItem = z.output<typeof requestItem>

export interface AskingKey {
  readonly id: string
  readonly name: string
}

export function requestItemOf(receipt: ReceiptsTable, key: AskingKey): RequestItem {
  const { id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge } = receiptView(receipt)
  return {
    ...{ id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge },
    ...{ lane: receipt.lane, first_byte_ms: receipt.first_byte_ms, total_ms: receipt.total_ms },
    key: { id: key.id, name: key.name },
  }
}
