import type { Selectable } from 'kysely'
import { insertInto, statementOf } from './record-changes.ts'
import type { AtomicStatement, SqlValue } from './sqlite/sqlite-file.ts'
import type { CodesTable, FundingRequestsTable, LedgerDb } from './tables.ts'

export type StoredCode = Selectable<CodesTable>

const COLUMNS = [
  ...(['id', 'batch', 'digest', 'shown', 'amount_nano', 'note', 'created_at', 'created_by', 'expires_at'] as const),
] as const

export type NewCode = Pick<StoredCode, (typeof COLUMNS)[number]>

export const codesInsert = (codes: readonly NewCode[]): AtomicStatement => ({
  ...insertInto('codes', COLUMNS),
  rows: codes.map((code) => COLUMNS.map((column): SqlValue => code[column])),
})

/**
 * Gives a code to an account for ever: of concurrent attempts one changes the row. A code that is redeemed, withdrawn or
 * expired cannot be claimed, nor can an account claim that is not active at this moment.
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

/** Claimed, and not known to be credited. */
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

export interface CodeWithAccount extends StoredCode {
  /** The id of the account that redeemed it. */
  redeemer: string | null
}

/** Newest first. */
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

/** Only for a code that is neither redeemed nor withdrawn. */
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

/** An account has one open funding request: a second one replaces its amount and keeps its place in the queue. */
export function fundingRequestPut(
  db: LedgerDb,
  request: Pick<StoredFundingRequest, 'account' | 'amount_nano' | 'note' | 'at'>,
): AtomicStatement {
  const { amount_nano, note, at } = request
  const query = db
    .insertInto('wishes')
    .values(request)
    .onConflict((conflict) =>
      conflict.column('account').where('answered_at', 'is', null).doUpdateSet({ amount_nano, note, at }),
    )
  return statementOf(query, 1)
}

export const findOpenFundingRequest = (db: LedgerDb, account: number): Promise<StoredFundingRequest | undefined> =>
  db.selectFrom('wishes').selectAll().where('account', '=', account).where('answered_at', 'is', null).executeTakeFirst()

interface FundingRequestWithAccount extends StoredFundingRequest {
  account_id: string
  email: string
}

/** Unanswered ones, in the order in which they were first made. */
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
