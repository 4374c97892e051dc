import { accountInserts } from './accounts.ts'
import type { KeyChange, NewKey } from './keys.ts'
import type { SqliteFile } from './sqlite/sqlite-file.ts'
import type { AccountStatus, LedgerDb } from './tables.ts'

/** What tests put into the books without anybody having done it: no trail, no bound. */
export const insertAccount = (file: SqliteFile, account: Parameters<typeof accountInserts>[0]): Promise<number[]> =>
  file.atomic(accountInserts(account))

export async function insertKey(db: LedgerDb, key: NewKey): Promise<void> {
  await db.insertInto('keys').values(key).execute()
}

export async function updateKey(db: LedgerDb, row: number, change: KeyChange): Promise<void> {
  const { limits: _, ...columns } = change
  await db.updateTable('keys').set(columns).where('row', '=', row).execute()
}

export async function updateAccountStatus(db: LedgerDb, row: number, status: AccountStatus): Promise<void> {
  await db.updateTable('accounts').set({ status }).where('row', '=', row).execute()
}
