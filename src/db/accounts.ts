import { sql } from 'kysely'
import { PERIOD_ROWS_FROM } from '../ledger/state/state.ts'
import { insertInto } from './record-changes.ts'
import type { PageAfter, PageBefore } from './sql.ts'
import { type AtomicStatement, changeOne, changeRows, type SqlStore, type SqlValue } from './sql-store.ts'
import type { AccountStatus, LedgerDb, Row } from './tables.ts'

export type StoredAccount = Row<'accounts'>

const INSERT_ACCOUNT = `INSERT INTO accounts (id, email, status, created_at) VALUES (?, ?, 'active', ?)`

const INSERT_WALLET = `INSERT INTO buckets (row, unit, kind, account, subject)
  SELECT (SELECT row + 1 FROM buckets WHERE row < ${PERIOD_ROWS_FROM} ORDER BY row DESC LIMIT 1),
      'usd', 'wallet', row, 'wallet'
    FROM accounts WHERE id = ?`

/** An account and its wallet, in one commit. The email is in lower case. */
export const accountInserts = (account: {
  readonly id: string
  readonly email: string
  readonly createdAt: number
}) => [changeOne(INSERT_ACCOUNT, account.id, account.email, account.createdAt), changeOne(INSERT_WALLET, account.id)]

export const findAccountById = (db: LedgerDb, id: string) =>
  db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()

export const findAccountByEmail = (db: LedgerDb, email: string) =>
  db.selectFrom('accounts').selectAll().where('email', '=', email).executeTakeFirst()

export const findAccountByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('accounts').selectAll().where('row', '=', row).executeTakeFirst()

/** Of these accounts, those that exist. */
export const listAccountIds = async (db: LedgerDb, rows: readonly number[]) =>
  rows.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id']).where('row', 'in', rows).execute()

export const listAccountsById = async (db: LedgerDb, ids: readonly string[]) =>
  ids.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id', 'email']).where('id', 'in', ids).execute()
export const listAccountEmails = async (db: LedgerDb, rows: readonly number[]) =>
  rows.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id', 'email']).where('row', 'in', rows).execute()

export const listAccountRows = async (db: LedgerDb, ids: readonly string[]) =>
  ids.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id']).where('id', 'in', ids).execute()

/** Oldest first. */
export const listAccounts = (db: LedgerDb, { after, limit }: PageAfter) =>
  db.selectFrom('accounts').selectAll().where('row', '>', after).orderBy('row').limit(limit).execute()

/** An account with the numbers of its people and its keys, without revoked ones. */
export type CountedAccount = Awaited<ReturnType<typeof listAccountsLike>>[number]

/** Accounts scanned in one query: a few milliseconds of the worker. */
export const ACCOUNTS_AT_ONCE = 4000

/** A prefix of an id that names almost one account. */
const ID_START = /^acct_[0-9a-z]{6,}$/

/**
 * Newest first, with the text in their email or id. The start of an id is looked up in the index of ids; for any other text
 * the accounts are scanned slice by slice until the page is full.
 */
export async function listAccountsLike(
  db: LedgerDb,
  { before, limit, search }: PageBefore & { readonly search: string | undefined },
) {
  const page = countedAccounts(db, { before, limit })
  if (search === undefined) return page.execute()
  if (ID_START.test(search)) {
    const named = db.selectFrom('accounts as named').select('named.row')
    return page.where('row', 'in', named.where('named.id', '>=', search).where('named.id', '<', `${search}~`)).execute()
  }
  const newest = await db.selectFrom('accounts').select('row').orderBy('row', 'desc').limit(1).executeTakeFirst()
  const found: Awaited<ReturnType<typeof page.execute>> = []
  // Accounts are numbered without gaps and never deleted.
  for (let behind = Math.min(before, (newest?.row ?? 0) + 1); behind > 1 && found.length < limit; ) {
    const from = behind - ACCOUNTS_AT_ONCE
    const slice = countedAccounts(db, { before: behind, limit: limit - found.length })
      .where('row', '>=', from)
      .where(({ eb, or, fn, val }) =>
        or([
          eb(fn('instr', ['accounts.email', val(search.toLowerCase())]), '>', 0),
          eb(fn('instr', ['accounts.id', val(search)]), '>', 0),
        ]),
      )
    found.push(...(await slice.execute()))
    behind = from
  }
  return found
}

const countedAccounts = (db: LedgerDb, { before, limit }: PageBefore) =>
  db
    .selectFrom('accounts')
    .selectAll('accounts')
    .select([
      sql<number>`(SELECT COUNT(*) FROM keys WHERE keys.account = accounts.row AND revoked_at IS NULL)`.as('keys'),
      sql<number>`(SELECT COUNT(*) FROM people WHERE people.account = accounts.row)`.as('people'),
    ])
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)

/** Only for an account that is not closed, which is final. */
export const accountStatusUpdate = (row: number, status: AccountStatus) =>
  changeOne(`UPDATE accounts SET status = ? WHERE row = ? AND status <> 'closed'`, status, row)

export const emailUpdate = (row: number, email: string) =>
  changeOne('UPDATE accounts SET email = ? WHERE row = ?', email, row)

export const isFrozen = async (db: LedgerDb, account: number): Promise<boolean> =>
  (await db.selectFrom('accounts').select('frozen_at').where('row', '=', account).executeTakeFirst())?.frozen_at != null

/** Sets the freeze of an account, keeping its first moment, or lifts it. */
export async function setFrozen(file: SqlStore, account: number, frozenAt: number | null): Promise<void> {
  const value = frozenAt === null ? '?' : 'COALESCE(frozen_at, ?)'
  await changeRows(file, `UPDATE accounts SET frozen_at = ${value} WHERE row = ?`, [frozenAt, account])
}

export const listFrozen = (db: LedgerDb) =>
  db.selectFrom('accounts').select(['row', 'id']).where('frozen_at', 'is not', null).execute()

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
