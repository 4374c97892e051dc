import type { z } from 'zod'
import { formatUsd } from '../../model/money.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { listTransfersOfAccount, type StoredTransfer } from '../../store/transfers.ts'
import type { oneAccountArgs } from '../accounts/change-account-status.ts'
import { resolveAccount } from '../accounts/one-account.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'

const PAGE = 500

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
  args: z.output<typeof oneAccountArgs>,
): Promise<Outcome<{ account: string; entries: WalletEntry[] }>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const entries: WalletEntry[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await listTransfersOfAccount(deps.db, account.row, { before, limit: PAGE })
    entries.push(...page.map(entryOf))
    if (page.length < PAGE) return done({ account: account.id, entries })
    before = page.at(-1)!.row
  }
}

const entryOf = (transfer: StoredTransfer): WalletEntry => ({
  kind: transfer.kind,
  amount: formatUsd(transfer.amount_nano),
  ref: transfer.ref,
  reason: transfer.reason,
  at: isoTime(transfer.at),
})
