import { insertInto } from './record-changes.ts'
import type { PageAfter, PageBefore } from './sql.ts'
import { type AtomicStatement, changeOne, type SqlValue } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredCode = Row<'codes'>

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
const CLAIM = `UPDATE codes SET redeemed_by = ?1, redeemed_at = ?2
  WHERE row = ?3 AND redeemed_at IS NULL AND withdrawn_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)
    AND EXISTS (SELECT 1 FROM accounts WHERE row = ?1 AND status = 'active')`

export const codeClaim = (row: number, { account, at }: { readonly account: number; readonly at: number }) =>
  changeOne(CLAIM, account, at, row)

export async function setCodeCredited(db: LedgerDb, row: number, at: number): Promise<void> {
  await db
    .updateTable('codes')
    .set({ credited_at: at })
    .where('row', '=', row)
    .where('credited_at', 'is', null)
    .execute()
}

/** Claimed, and not known to be credited. */
export const listClaimedCodes = (db: LedgerDb, { after, limit }: PageAfter) =>
  db
    .selectFrom('codes')
    .selectAll()
    .where('redeemed_at', 'is not', null)
    .where('credited_at', 'is', null)
    .where('row', '>', after)
    .orderBy('row')
    .limit(limit)
    .execute()

export const findCodeByDigest = (db: LedgerDb, digest: Uint8Array) =>
  db.selectFrom('codes').selectAll().where('digest', '=', digest).executeTakeFirst()

export const findCodeById = (db: LedgerDb, id: string) =>
  db.selectFrom('codes').selectAll().where('id', '=', id).executeTakeFirst()

/** `redeemer` is the id of the account that redeemed it. */
export type CodeWithAccount = Awaited<ReturnType<typeof listCodePage>>[number]

/** Newest first. */
export const listCodePage = (db: LedgerDb, { before, limit }: PageBefore) =>
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
export const codeWithdrawal = (row: number, at: number) =>
  changeOne(
    'UPDATE codes SET withdrawn_at = ? WHERE row = ? AND redeemed_at IS NULL AND withdrawn_at IS NULL',
    ...[at, row],
  )

export type StoredFundingRequest = Row<'wishes'>

const PUT_REQUEST = `INSERT INTO wishes (account, amount_nano, note, at) VALUES (?, ?, ?, ?)
  ON CONFLICT (account) WHERE answered_at IS NULL
    DO UPDATE SET amount_nano = excluded.amount_nano, note = excluded.note, at = excluded.at`

/** An account has one open funding request: a second one replaces its amount and keeps its place in the queue. */
export const fundingRequestPut = (request: Pick<StoredFundingRequest, 'account' | 'amount_nano' | 'note' | 'at'>) =>
  changeOne(PUT_REQUEST, request.account, request.amount_nano, request.note, request.at)

export const findOpenFundingRequest = (db: LedgerDb, account: number) =>
  db.selectFrom('wishes').selectAll().where('account', '=', account).where('answered_at', 'is', null).executeTakeFirst()

/** Unanswered ones, in the order in which they were first made. */
export const listOpenFundingRequests = (db: LedgerDb, { after, limit }: PageAfter) =>
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
