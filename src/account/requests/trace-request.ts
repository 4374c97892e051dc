import { findAccountByRow } from '../../store/accounts.ts'
import { findKeyByRow } from '../../store/keys.ts'
import { findReceipt } from '../../store/receipts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { quoted } from '../naming.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { type DescribedReceipt, describeReceipt } from './describe-receipt.ts'
import { type AttemptView, attemptsView } from './receipt-view.ts'

/** All that is known about one request: for the operator, who may see whose it is and where it ran. */
export interface RequestTrace extends DescribedReceipt {
  readonly account: { readonly id: string; readonly email: string }
  readonly key: { readonly id: string; readonly name: string }
  readonly lane: string | null
  readonly attempts: readonly AttemptView[]
}

export async function traceRequest(
  deps: { readonly db: LedgerDb },
  args: { readonly request: string },
): Promise<Outcome<RequestTrace>> {
  const receipt = await findReceipt(deps.db, args.request)
  if (receipt === undefined) {
    const message = `No request ${quoted(args.request)} is in the books. One that was refused before its hold has only a log line.`
    return refused('request_not_found', message)
  }
  const account = await findAccountByRow(deps.db, receipt.account)
  const key = await findKeyByRow(deps.db, receipt.key)
  if (account === undefined || key === undefined) throw new Error(`Receipt ${receipt.request_id} belongs to nobody`)
  return done({
    ...(await describeReceipt(deps, receipt)),
    account: { id: account.id, email: account.email },
    key: { id: key.id, name: key.name },
    lane: receipt.lane,
    attempts: attemptsView(receipt),
  })
}
