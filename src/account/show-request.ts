import type { z } from 'zod'
import type { foundRequest } from '../contract/operate.ts'
import type { requestDetail } from '../contract/requests.ts'
import { loadPrice } from '../ledger/record-prices.ts'
import type { AccountRow } from '../model/ids.ts'
import { findAccountByRow } from '../store/accounts.ts'
import { findClaimOfReceipt } from '../store/claims.ts'
import { findKeyByRow } from '../store/keys.ts'
import { findReceipt } from '../store/receipts.ts'
import type { LedgerDb, ReceiptsTable } from '../store/tables.ts'
import { chargeLinesOf } from './charge-lines.ts'
import { describeReceipt } from './describe-receipt.ts'
import { isoTime } from './iso-time.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { quoted } from './quoted.ts'
import { attemptsView } from './receipt-view.ts'
import { requestItemOf } from './request-item.ts'

type RequestDetail = z.output<typeof requestDetail>

/** All that an account may know of one of its requests. Somebody else's is answered like one that never was. */
export async function showRequest(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  id: string,
): Promise<Outcome<RequestDetail>> {
  const receipt = await findReceipt(db, id)
  if (receipt?.account === account) return done(await detailOf(db, receipt))
  return refused(
    'request_not_found',
    `This account has no request ${quoted(id)}. One that was refused is not in the books.`,
  )
}

/** Any request of anybody, for an operator who answers a question by its id. */
export async function findAnyRequest(
  { db }: { readonly db: LedgerDb },
  id: string,
): Promise<Outcome<z.output<typeof foundRequest>>> {
  const receipt = await findReceipt(db, id)
  const account = receipt && (await findAccountByRow(db, receipt.account))
  if (receipt === undefined || account === undefined) {
    return refused('request_not_found', `No request has the id ${quoted(id)}.`)
  }
  return done({ account: { id: account.id, email: account.email }, request: await detailOf(db, receipt) })
}

async function detailOf(db: LedgerDb, receipt: ReceiptsTable): Promise<RequestDetail> {
  const key = await findKeyByRow(db, receipt.key)
  if (key === undefined) throw new Error(`Receipt ${receipt.request_id} names a key that is not there`)
  const { cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost, paid_by } =
    await describeReceipt({ db }, receipt)
  const { windows, caps, ...payer } = paid_by
  const claim = await findClaimOfReceipt(db, receipt.row)
  return {
    ...requestItemOf(receipt, key),
    ...{ cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost },
    lines: chargeLinesOf(receipt, await loadPrice(db, receipt.model, receipt.price_version)),
    attempts: attemptsView(receipt),
    paid_by: { ...payer, windows: [...windows], caps: [...caps] },
    idempotency: claim === undefined ? null : { state: claim.state, until: isoTime(claim.expires_at) },
    movement: isOnStatement(receipt) ? receipt.movement : null,
  }
}

/** What cost nothing, and what a plan has paid, is no line of the wallet's statement. */
const isOnStatement = ({ kind, charge_nano }: ReceiptsTable): boolean => kind === 'wallet' && (charge_nano ?? 0n) > 0n
