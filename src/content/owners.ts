import type { Brand } from '../lib/brand.ts'
import type { AccountId } from '../model/ids.ts'
import type { AtomicStatement, SqliteFile } from '../sqlite/sqlite-file.ts'

/**
 * What content.db calls an account in its own rows. The number is given out by content.db and belongs to one account id for
 * ever. Row numbers of the ledger are not used here: a ledger that is restored from a backup gives them out a second time.
 */
export type OwnerRow = Brand<number, 'content-owner'>

/** The number of an account, inside a statement that names its id. */
export const OWNER_OF = (id: string): string => `(SELECT owner FROM owners WHERE id = ${id})`

/** Gives a number to those of these accounts that have none yet. */
export const insertOwners = (accounts: readonly AccountId[]): AtomicStatement => ({
  sql: 'INSERT INTO owners (id) VALUES (?) ON CONFLICT DO NOTHING',
  rows: [...new Set(accounts)].map((account) => [account]),
})

export async function findOwner(file: SqliteFile, account: AccountId): Promise<OwnerRow | undefined> {
  const [row] = await file.all<{ owner: OwnerRow }>('SELECT owner FROM owners WHERE id = ?', [account])
  return row?.owner
}
