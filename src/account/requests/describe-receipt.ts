import { loadPrice } from '../../ledger/record-prices.ts'
import type { Caller } from '../../model/caller.ts'
import { periodAt } from '../../model/cycle.ts'
import type { KeyRow, RequestId } from '../../model/ids.ts'
import { formatUsd, nanoFromPico } from '../../model/money.ts'
import type { Price, Rates } from '../../model/price.ts'
import { allowancesOfCaps } from '../../model/spend-caps.ts'
import { listBuckets, type StoredBucket } from '../../store/buckets.ts'
import { findReceipt } from '../../store/receipts.ts'
import { findSubscriptionAt } from '../../store/subscriptions.ts'
import type { LedgerDb, ReceiptsTable } from '../../store/tables.ts'
import { type RatesView, ratesView } from '../models/list-models.ts'
import { isoTime } from '../moments.ts'
import { type AttemptView, attemptsView, cacheLostOf, type ReceiptView, receiptView } from './receipt-view.ts'

/** A receipt with what it refers to: the prices that applied, and who paid. */
export interface DescribedReceipt extends ReceiptView {
  /** USD per million tokens, of the tier that applied (the base price while the request runs). */
  readonly price: RatesView & { readonly per_request: string }
  /** What of the input was paid as new, because a lane that had it in its cache could not be asked again. */
  readonly cache_lost: CacheLostView | null
  readonly paid_by: PayerView
}

export interface CacheLostView {
  readonly tokens: number
  /** How much less they would have cost. */
  readonly cost: string
}

/** The prepaid balance, or the windows of a plan; `caps` are those of the key that it counted against besides. */
export interface PayerView {
  readonly kind: 'wallet' | 'plan'
  readonly plan: string | null
  readonly windows: readonly PeriodView[]
  readonly caps: readonly PeriodView[]
}

export interface PeriodView {
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
export interface OwnReceipt extends DescribedReceipt {
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
