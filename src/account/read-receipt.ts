import { loadPrice } from '../ledger/record-prices.ts'
import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import type { Price } from '../model/price.ts'
import { findReceipt } from '../store/receipts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type RatesView, ratesView } from './price-view.ts'
import { type ReceiptView, receiptView } from './receipt-view.ts'

/** What one request cost and why, for the account that made it. Which lane ran it is the operator's affair. */
export interface OwnReceipt extends ReceiptView {
  readonly object: 'request'
  /** USD per million tokens, of the tier that applied (the base price while the request runs). */
  readonly price: RatesView & { readonly per_request: string }
}

/** Undefined when there is no such request of this account: other people's requests look like none. */
export async function readReceipt(
  deps: { readonly db: LedgerDb },
  caller: Pick<Caller, 'account'>,
  requestId: RequestId,
): Promise<OwnReceipt | undefined> {
  const receipt = await findReceipt(deps.db, requestId)
  if (receipt === undefined || receipt.account !== caller.account) return undefined
  const price = await loadPrice(deps.db, receipt.model, receipt.price_version)
  const rates = ratesView(ratesOf(price, receipt.tier ?? 0))
  return { object: 'request', ...receiptView(receipt), price: { ...rates, per_request: formatUsd(price.perRequest) } }
}

const ratesOf = (price: Price, tier: number) =>
  price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === tier) ?? price
