import type { PageQuery } from '../../contract/values.ts'
import { formatUsd } from '../../model/money.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { listTransfersOfAccount, type StoredTransfer } from '../../store/transfers.ts'
import { type OneAccount, resolveAccount } from '../accounts/one-account.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { cutPage, type Page, readCursor, writeCursor } from '../pages.ts'

export interface WalletEntry {
  readonly kind: StoredTransfer['kind']
  readonly amount: string
  readonly ref: string
  readonly reason: string
  readonly at: string
}

/** What the operator has put in and taken out, newest first. What requests cost is on their receipts. */
export async function walletEntries(
  deps: { readonly db: LedgerDb },
  { account, after, limit }: PageQuery & OneAccount,
): Promise<Outcome<Page<WalletEntry>>> {
  const resolved = await resolveAccount(deps, account)
  if (resolved.kind === 'refused') return resolved
  const before = readCursor(after) ?? Number.MAX_SAFE_INTEGER
  if (typeof before !== 'number') return before
  const read = await listTransfersOfAccount(deps.db, resolved.account.row, { before, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  return done({ items: rows.map(entryOf), next: writeCursor(next) })
}

const entryOf = (transfer: StoredTransfer): WalletEntry => ({
  kind: transfer.kind,
  amount: formatUsd(transfer.amount_nano),
  ref: transfer.ref,
  reason: transfer.reason,
  at: isoTime(transfer.at),
})
