import type { Selectable } from 'kysely'
import { insertInto, statementOf } from './record-changes.ts'
import type { AtomicStatement, SqlValue } from './sqlite/sqlite-file.ts'
import type { CodesTable, FundingRequestsTable, LedgerDb } from './tables.ts'

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
export const codesInsert = (codes: readonly NewCode[]): AtomicStatement => ({
  ...insertInto('codes', COLUMNS),
  rows: codes.map((code) => COLUMNS.map((column): SqlValue => code[column])),
})

/**
 * Gives a code to an account, once and for ever: of all that ask, the database lets one change the row. Nobody can take one
 * that is taken, withdrawn or expired, nor for an account that is not active in this moment.
 */
export function codeClaim(
  db: LedgerDb,
  row: number,
  { account, at }: { readonly account: number; readonly at: number },
): AtomicStatement {
  const query = db
    .updateTable('codes')
    .set({ redeemed_by: account, redeemed_at: at })
    .where('row', '=', row)
    .where('redeemed_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('accounts').select('row').where('row', '=', account).where('status', '=', 'active')),
    )
  return statementOf(query, 1)
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

/** Only of a code that is neither redeemed nor withdrawn. */
export const codeWithdrawal = (db: LedgerDb, row: number, at: number): AtomicStatement =>
  statementOf(
    db
      .updateTable('codes')
      .set({ withdrawn_at: at })
      .where('row', '=', row)
      .where('redeemed_at', 'is', null)
      .where('withdrawn_at', 'is', null),
    1,
  )

export type StoredFundingRequest = Selectable<FundingRequestsTable>

/** An account has one open wish: asking again says it anew. It keeps its place in the line. */
export function fundingRequestPut(
  db: LedgerDb,
  wish: Pick<StoredFundingRequest, 'account' | 'amount_nano' | 'note' | 'at'>,
): AtomicStatement {
  const { amount_nano, note, at } = wish
  const query = db
    .insertInto('wishes')
    .values(wish)
    .onConflict((conflict) =>
      conflict.column('account').where('answered_at', 'is', null).doUpdateSet({ amount_nano, note, at }),
    )
  return statementOf(query, 1)
}

export const findOpenFundingRequest = (db: LedgerDb, account: number): Promise<StoredFundingRequest | undefined> =>
  db.selectFrom('wishes').selectAll().where('account', '=', account).where('answered_at', 'is', null).executeTakeFirst()

/** A wish with whose it is. */
interface FundingRequestWithAccount extends StoredFundingRequest {
  account_id: string
  email: string
}

/** Those that nobody has answered, in the order in which they were first said. */
export const listOpenFundingRequests = (
  db: LedgerDb,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<FundingRequestWithAccount[]> =>
  db
    .selectFrom('wishes')
    .innerJoin('accounts', 'accounts.row', 'wishes.account')
    .selectAll('wishes')
    .select(['accounts.id as account_id', 'accounts.email'])
    .where('wishes.answered_at', 'is', null)
    .where('wishes.row', '>', after)
    .orderBy('wishes.row')
    .limit(limit)
    .execute()
