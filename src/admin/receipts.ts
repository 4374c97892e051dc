import type { z } from 'zod'
import type { requestItem } from '../contract/owner.ts'
import { listBuckets, type StoredBucket } from '../db/allowances.ts'
import { findReceipt } from '../db/receipts.ts'
import { findSubscriptionAt } from '../db/subscriptions.ts'
import type { LedgerDb, ReceiptState, ReceiptsTable } from '../db/tables.ts'
import { loadPrice } from '../ledger/prices.ts'
import { allowancesOfCaps, periodAt } from '../model/allowance.ts'
import type { Caller, KeyKind } from '../model/caller.ts'
import type { Attempt } from '../model/ending.ts'
import type { KeyRow, RequestId } from '../model/ids.ts'
import { formatUsd, nanoFromPico } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import { type RatesView, ratesView } from './models.ts'
import { isoTime, isoTimeOrNull } from './values.ts'

/** What a receipt says about one request, in the spelling of the API. Null: not known (yet), or does not apply. */
interface ReceiptView {
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
interface TokensView {
  readonly uncached_input: number
  readonly cached_input: number
  readonly cache_write: number
  readonly output: number
  readonly reasoning: number
  readonly estimated: boolean
}

/** How large the conversation was, and how large what stands in its place is. */
interface CompactionView {
  readonly tokens_before: number
  readonly tokens_after: number
}

export interface AttemptView {
  readonly lane: string
  readonly outcome: string
  readonly status: number | null
  readonly ms: number
}

const receiptView = (receipt: ReceiptsTable): ReceiptView => ({
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

const cacheLostOf = (receipt: StoredAttempts): number =>
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
type RequestItem = z.output<typeof requestItem>

interface AskingKey {
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

/** A receipt with what it refers to: the prices that applied, and who paid. */
export interface DescribedReceipt extends ReceiptView {
  /** USD per million tokens, of the tier that applied (the base price while the request runs). */
  readonly price: RatesView & { readonly per_request: string }
  /** What of the input was paid as new, because a lane that had it in its cache could not be asked again. */
  readonly cache_lost: CacheLostView | null
  readonly paid_by: PayerView
}

interface CacheLostView {
  readonly tokens: number
  /** How much less they would have cost. */
  readonly cost: string
}

/** The prepaid balance, or the windows of a plan; `caps` are those of the key that it counted against besides. */
interface PayerView {
  readonly kind: 'wallet' | 'plan'
  readonly plan: string | null
  readonly windows: readonly PeriodView[]
  readonly caps: readonly PeriodView[]
}

interface PeriodView {
  readonly name: string
  readonly start: string
  readonly end: string
}

export async function describeReceipt(
  deps: { readonly db: LedgerDb },
  receipt: ReceiptsTable,
): Promise<DescribedReceipt> {
  const price = await loadPrice(deps.db, receipt.model, receipt.price_version)
  const applied = ratesOf(price, receipt.tier ?? 0)
  return {
    ...receiptView(receipt),
    price: { ...ratesView(applied), per_request: formatUsd(price.perRequest) },
    cache_lost: cacheLostView(receipt, applied),
    paid_by: await payerOf(deps, receipt),
  }
}

const ratesOf = (price: Price, tier: number) =>
  price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === tier) ?? price

/** What the new lane wrote to its own cache was paid as that, where its provider bills it. */
function cacheLostView(receipt: ReceiptsTable, { input, cachedInput, cacheWrite }: Rates): CacheLostView | null {
  const tokens = cacheLostOf(receipt)
  if (tokens === 0) return null
  const written = Math.min(tokens, receipt.cache_write ?? 0)
  const paid = BigInt(written) * cacheWrite + BigInt(tokens - written) * input
  return { tokens, cost: formatUsd(nanoFromPico(paid - BigInt(tokens) * cachedInput)) }
}

async function payerOf({ db }: { readonly db: LedgerDb }, receipt: ReceiptsTable): Promise<PayerView> {
  const buckets = await listBuckets(db, JSON.parse(receipt.buckets) as number[])
  const periods = (kind: StoredBucket['kind']) => buckets.filter((bucket) => bucket.kind === kind).map(periodView)
  // Caps were buckets once.
  const [windows, caps] = [periods('window'), [...periods('cap'), ...capsOf(receipt)]]
  if (receipt.kind === 'wallet') return { kind: 'wallet', plan: null, windows, caps }
  const subscription = await findSubscriptionAt(db, receipt.account, receipt.opened_at)
  return { kind: 'plan', plan: subscription?.plan ?? null, windows, caps }
}

/** The spend caps that it counted against, in the day and month in which it was admitted. */
const capsOf = ({ caps, key, opened_at }: ReceiptsTable): PeriodView[] =>
  allowancesOfCaps(key as KeyRow, { day: 0n, month: 0n })
    .filter(({ name }) => caps?.split(' ').includes(name))
    .map(({ name, cycle }) => {
      const { start, end } = periodAt(cycle, opened_at, 1)
      return { name, start: isoTime(start), end: isoTime(end) }
    })

/** `window:5h` and `cap:17:day` end in what people call them. */
const periodView = ({ subject, period_start, period_end }: StoredBucket): PeriodView => ({
  name: subject.slice(subject.lastIndexOf(':') + 1),
  start: isoTime(period_start ?? 0),
  end: isoTime(period_end ?? 0),
})

/** What one request cost and why, for the account that made it. Which lane ran it is the operator's affair. */
interface OwnReceipt extends DescribedReceipt {
  readonly object: 'request'
  /** One for each time that a provider was asked. Only what was delivered in the end is paid. */
  readonly attempts: readonly Omit<AttemptView, 'lane'>[]
}

/** Undefined when there is no such request of this account: other people's requests look like none. */
export async function readReceipt(
  deps: { readonly db: LedgerDb },
  caller: Pick<Caller, 'account'>,
  requestId: RequestId,
): Promise<OwnReceipt | undefined> {
  const receipt = await findReceipt(deps.db, requestId)
  if (receipt === undefined || receipt.account !== caller.account) return undefined
  const attempts = attemptsView(receipt).map(({ outcome, status, ms }) => ({ outcome, status, ms }))
  return { object: 'request', ...(await describeReceipt(deps, receipt)), attempts }
}
