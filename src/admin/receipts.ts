import type { z } from 'zod'
import type { requestItem } from '../contract/owner.ts'
import { findSubscriptionAt, listBuckets, type StoredBucket } from '../db/allowances.ts'
import { findReceipt } from '../db/receipts.ts'
import type { LedgerDb, ReceiptsTable } from '../db/tables.ts'
import { loadPrice } from '../ledger/prices.ts'
import { allowancesOfCaps, periodAt } from '../model/allowance.ts'
import type { Caller } from '../model/caller.ts'
import type { Attempt } from '../model/ending.ts'
import type { KeyRow, RequestId } from '../model/ids.ts'
import { formatUsd, nanoFromPico } from '../model/money.ts'
import type { Rates } from '../model/price.ts'
import { ratesView } from './models.ts'
import { isoTime, isoTimeOrNull } from './values.ts'

/** A receipt in the spelling of the API. Null: not known (yet), or not applicable. */
const receiptView = (receipt: ReceiptsTable) => ({
  id: receipt.request_id,
  state: receipt.state,
  outcome: receipt.outcome,
  model: receipt.model,
  kind: receipt.kind,
  currency: 'USD' as const,
  opened_at: isoTime(receipt.opened_at),
  closed_at: isoTimeOrNull(receipt.closed_at),
  first_byte_ms: receipt.first_byte_ms,
  total_ms: receipt.total_ms,
  tokens: tokensView(receipt),
  compaction: compactionView(receipt),
  price_version: receipt.price_version,
  /** `above_input_tokens` of the price tier that applied; 0 is the base price. */
  tier: receipt.tier,
  output_cap: receipt.output_cap,
  input_estimate: receipt.input_estimate,
  hold: formatUsd(receipt.hold_nano),
  cost: moneyView(receipt.cost_nano),
  charge: moneyView(receipt.charge_nano),
  /** The cost beyond the hold, which is not charged. */
  shortfall: moneyView(receipt.shortfall_nano),
})

type StoredAttempts = Pick<ReceiptsTable, 'attempts'>

const attemptsOf = ({ attempts }: StoredAttempts): Attempt[] =>
  attempts === null ? [] : (JSON.parse(attempts) as Attempt[])

export const attemptsView = (receipt: StoredAttempts) =>
  attemptsOf(receipt).map(({ lane, outcome, status, ms }) => ({ lane, outcome, status: status ?? null, ms }))

const moneyView = (amount: bigint | null): string | null => (amount === null ? null : formatUsd(amount))

/** The classes do not overlap; reasoning is part of output. */
const tokensView = (receipt: ReceiptsTable) =>
  receipt.output === null
    ? null
    : {
        uncached_input: receipt.uncached_input ?? 0,
        cached_input: receipt.cached_input ?? 0,
        cache_write: receipt.cache_write ?? 0,
        output: receipt.output,
        reasoning: receipt.reasoning ?? 0,
        estimated: receipt.estimated === 1,
      }

/** The size of the conversation before and after its compaction. */
const compactionView = ({ tokens_before, tokens_after }: ReceiptsTable) =>
  tokens_before === null || tokens_after === null ? null : { tokens_before, tokens_after }

/** A request in the lists of the console. */
export function requestItemOf(
  receipt: ReceiptsTable,
  key: { readonly id: string; readonly name: string },
): z.output<typeof requestItem> {
  const { id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge } = receiptView(receipt)
  return {
    ...{ id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge },
    ...{ lane: receipt.lane, first_byte_ms: receipt.first_byte_ms, total_ms: receipt.total_ms },
    key: { id: key.id, name: key.name },
  }
}

/** A receipt with its price and its payer. */
export async function describeReceipt({ db }: { readonly db: LedgerDb }, receipt: ReceiptsTable) {
  const price = await loadPrice(db, receipt.model, receipt.price_version)
  // While the request runs, the base price.
  const applied = price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === (receipt.tier ?? 0)) ?? price
  return {
    ...receiptView(receipt),
    /** USD per million tokens. */
    price: { ...ratesView(applied), per_request: formatUsd(price.perRequest) },
    cache_lost: cacheLostView(receipt, applied),
    paid_by: await payerOf(db, receipt),
  }
}

/**
 * Input that was paid as new because the lane that had cached it was not available, and how much less it would have cost. What
 * the new lane wrote to its own cache was paid as a cache write, if its provider bills it.
 */
function cacheLostView(receipt: ReceiptsTable, { input, cachedInput, cacheWrite }: Rates) {
  const tokens = attemptsOf(receipt).reduce((sum, { cacheLost = 0 }) => sum + cacheLost, 0)
  if (tokens === 0) return null
  const written = Math.min(tokens, receipt.cache_write ?? 0)
  const paid = BigInt(written) * cacheWrite + BigInt(tokens - written) * input
  return { tokens, cost: formatUsd(nanoFromPico(paid - BigInt(tokens) * cachedInput)) }
}

/** The wallet, or the windows of a plan; `caps` are the spend caps of the key that it counted against as well. */
async function payerOf(db: LedgerDb, receipt: ReceiptsTable) {
  const buckets = await listBuckets(db, JSON.parse(receipt.buckets) as number[])
  const periods = (kind: StoredBucket['kind']) => buckets.filter((bucket) => bucket.kind === kind).map(periodView)
  // Old receipts have their caps as buckets.
  const [windows, caps] = [periods('window'), [...periods('cap'), ...capsOf(receipt)]]
  if (receipt.kind === 'wallet') return { kind: 'wallet' as const, plan: null, windows, caps }
  const subscription = await findSubscriptionAt(db, receipt.account, receipt.opened_at)
  return { kind: 'plan' as const, plan: subscription?.plan ?? null, windows, caps }
}

/** The spend caps that it counted against, in the day and month of its admission. */
const capsOf = ({ caps, key, opened_at }: ReceiptsTable) =>
  allowancesOfCaps(key as KeyRow, { day: 0n, month: 0n })
    .filter(({ name }) => caps?.split(' ').includes(name))
    .map(({ name, cycle }) => {
      const { start, end } = periodAt(cycle, opened_at, 1)
      return { name, start: isoTime(start), end: isoTime(end) }
    })

/** The name is the end of `window:5h` or `cap:17:day`. */
const periodView = ({ subject, period_start, period_end }: StoredBucket) => ({
  name: subject.slice(subject.lastIndexOf(':') + 1),
  start: isoTime(period_start ?? 0),
  end: isoTime(period_end ?? 0),
})

/** What one request cost and why, for its account; undefined for requests of others. Lanes are visible to operators only. */
export async function readReceipt(
  services: { readonly db: LedgerDb },
  caller: Pick<Caller, 'account'>,
  requestId: RequestId,
) {
  const receipt = await findReceipt(services.db, requestId)
  if (receipt === undefined || receipt.account !== caller.account) return undefined
  // One for each call of a provider. Only the delivered one is paid.
  const attempts = attemptsView(receipt).map(({ outcome, status, ms }) => ({ outcome, status, ms }))
  return { object: 'request' as const, ...(await describeReceipt(services, receipt)), attempts }
}
