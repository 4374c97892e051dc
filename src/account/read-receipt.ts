import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import { findReceipt } from '../store/receipts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type DescribedReceipt, describeReceipt } from './describe-receipt.ts'
import { type AttemptView, attemptsView } from './receipt-view.ts'

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
