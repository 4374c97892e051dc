import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { sumRunning } from '../store/account-requests.ts'
import type { LedgerDb } from '../store/tables.ts'

/** Requests of an account that run on its wallet now, and what they hold of it. */
export async function runningOnWallet(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
): Promise<{ readonly running: number; readonly held: string }> {
  const { requests, held_nano } = await sumRunning(db, account, 'wallet')
  return { running: requests, held: formatUsd(held_nano) }
}
