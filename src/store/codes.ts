import type { Selectable } from 'kysely'
import type { SqliteFile, SqlValue } from '../sqlite/sqlite-file.ts'
import { insertInto } from './row-statements.ts'
import type { CodesTable, LedgerDb } from './tables.ts'

export type StoredCode = Selectable<CodesTable>

export type NewCode = Pick<
  StoredCode,
  'id' | 'batch' | 'digest' | 'shown' | 'amount_nano' | 'note' | 'created_at' | 'created_by' | 'expires_at'
>

const COLUMNS = [
  'id',
  'batch',
  'digest',
  'shown',
  'amount_nano',
  'note',
  'created_at',
  'created_by',
  'expires_at',
] as const

/** All of a batch or none. */
export async function insertCodes(file: SqliteFile, codes: readonly NewCode[]): Promise<void> {
  const rows = codes.map((code) => COLUMNS.map((column): SqlValue => code[column]))
  await file.atomic([{ ...insertInto('codes', COLUMNS), rows }])
}

/**
 * Gives a code to an account, once and for ever: of all that ask, the database lets one change the row. False when it is
 * nobody's to take: unknown, taken, withdrawn, expired, or for an account that is not active in this moment.
 */
export async function claimCode(
  db: LedgerDb,
  digest: Uint8Array,
  { account, at }: { readonly account: number; readonly at: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('codes')
    .set({ redeemed_by: account, redeemed_at: at })
    .where('digest', '=', digest)
    .where('redeemed_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('accounts').select('row').where('row', '=', account).where('status', '=', 'active')),
    )
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export async function setCodeCredited(db: LedgerDb, row: number, at: number): Promise<void> {
  await db
    .updateTable('codes')
    .set({ credited_at: at })
    .where('row', '=', row)
    .where('credited_at', 'is', null)
    .execute()
}

/** Claimed, and not known to be credited. The next page begins after the row of this one's last. */
export const listClaimedCodes = (
  db: LedgerDb,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<StoredCode[]> =>
  db
    .selectFrom('codes')
    .selectAll()
    .where('redeemed_at', 'is not', null)
    .where('credited_at', 'is', null)
    .where('row', '>', after)
    .orderBy('row')
    .limit(limit)
    .execute()

export const findCodeByDigest = (db: LedgerDb, digest: Uint8Array): Promise<StoredCode | undefined> =>
  db.selectFrom('codes').selectAll().where('digest', '=', digest).executeTakeFirst()

export const findCodeById = (db: LedgerDb, id: string): Promise<StoredCode | undefined> =>
  db.selectFrom('codes').selectAll().where('id', '=', id).executeTakeFirst()

/** A code with the id of the account that redeemed it. */
export interface CodeWithAccount extends StoredCode {
  redeemer: string | null
}

/** Newest first; the next page ends before the row of this one's last code. */
export const listCodePage = (
  db: LedgerDb,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<CodeWithAccount[]> =>
  db
    .selectFrom('codes')
    .leftJoin('accounts', 'accounts.row', 'codes.redeemed_by')
    .selectAll('codes')
    .select('accounts.id as redeemer')
    .where('codes.row', '<', before)
    .orderBy('codes.row', 'desc')
    .limit(limit)
    .execute()

/** False when it is redeemed or withdrawn already, or not there. */
export async function withdrawStoredCode(db: LedgerDb, row: number, at: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('codes')
    .set({ withdrawn_at: at })
    .where('row', '=', row)
    .where('redeemed_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
