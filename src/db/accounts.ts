import type { Selectable } from 'kysely'
import { PERIOD_ROWS_FROM } from '../ledger/state/state.ts'
import type { AtomicStatement, SqliteFile } from './sqlite/sqlite-file.ts'
import type { AccountStatus, AccountsTable, LedgerDb } from './tables.ts'

export type StoredAccount = Selectable<AccountsTable>

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
}): AtomicStatement[] => [
  { sql: INSERT_ACCOUNT, rows: [[account.id, account.email, account.createdAt]], expectChanges: 1 },
  { sql: INSERT_WALLET, rows: [[account.id]], expectChanges: 1 },
]

export const findAccountById = (db: LedgerDb, id: string): Promise<StoredAccount | undefined> =>
  db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()

export const findAccountByEmail = (db: LedgerDb, email: string): Promise<StoredAccount | undefined> =>
  db.selectFrom('accounts').selectAll().where('email', '=', email).executeTakeFirst()

export const findAccountByRow = (db: LedgerDb, row: number): Promise<StoredAccount | undefined> =>
  db.selectFrom('accounts').selectAll().where('row', '=', row).executeTakeFirst()

/** Of these accounts, those that exist. */
export const listAccountIds = async (db: LedgerDb, rows: readonly number[]): Promise<{ row: number; id: string }[]> =>
  rows.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id']).where('row', 'in', rows).execute()

export const listAccountRows = async (db: LedgerDb, ids: readonly string[]): Promise<{ row: number; id: string }[]> =>
  ids.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id']).where('id', 'in', ids).execute()

/** Oldest first. `after` is the row of the last page's last account. */
export const listAccounts = (
  db: LedgerDb,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<StoredAccount[]> =>
  db.selectFrom('accounts').selectAll().where('row', '>', after).orderBy('row').limit(limit).execute()

export interface CountedAccount extends StoredAccount {
  /** Without revoked ones. */
  keys: number
  people: number
}

interface SearchOfAccounts {
  /** The row of the last page's last account. */
  readonly before: number
  readonly limit: number
  readonly search: string | undefined
}

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
  { before, limit, search }: SearchOfAccounts,
): Promise<CountedAccount[]> {
  if (search === undefined) return countedAccounts(db, { before, limit }).execute()
  if (ID_START.test(search)) return accountsById(db, { before, limit }, search)
  const newest = await db.selectFrom('accounts').select('row').orderBy('row', 'desc').limit(1).executeTakeFirst()
  const found: CountedAccount[] = []
  // Accounts are numbered without gaps and never deleted.
  for (let behind = Math.min(before, (newest?.row ?? 0) + 1); behind > 1 && found.length < limit; ) {
    const from = behind - ACCOUNTS_AT_ONCE
    found.push(...(await accountsInSlice(db, { before: behind, limit: limit - found.length }, { from, search })))
    behind = from
  }
  return found
}

const accountsInSlice = (
  db: LedgerDb,
  page: Omit<SearchOfAccounts, 'search'>,
  { from, search }: { readonly from: number; readonly search: string },
): Promise<CountedAccount[]> =>
  countedAccounts(db, page)
    .where('row', '>=', from)
    .where(({ eb, or, fn, val }) =>
      or([
        eb(fn('instr', ['accounts.email', val(search.toLowerCase())]), '>', 0),
        eb(fn('instr', ['accounts.id', val(search)]), '>', 0),
      ]),
    )
    .execute()

const accountsById = (db: LedgerDb, page: Omit<SearchOfAccounts, 'search'>, start: string): Promise<CountedAccount[]> =>
  countedAccounts(db, page)
    .where('row', 'in', ({ selectFrom }) =>
      selectFrom('accounts as named')
        .select('named.row')
        .where('named.id', '>=', start)
        .where('named.id', '<', `${start}~`),
    )
    .execute()

const countedAccounts = (db: LedgerDb, { before, limit }: Omit<SearchOfAccounts, 'search'>) =>
  db
    .selectFrom('accounts')
    .selectAll('accounts')
    .select(({ selectFrom }) => [
      selectFrom('keys')
        .select(({ fn }) => fn.countAll<number>().as('keys'))
        .whereRef('keys.account', '=', 'accounts.row')
        .where('revoked_at', 'is', null)
        .$asScalar()
        .$notNull()
        .as('keys'),
      selectFrom('people')
        .select(({ fn }) => fn.countAll<number>().as('people'))
        .whereRef('people.account', '=', 'accounts.row')
        .$asScalar()
        .$notNull()
        .as('people'),
    ])
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)

/** Only for an account that is not closed, which is final. */
export const accountStatusUpdate = (row: number, status: AccountStatus): AtomicStatement => ({
  sql: `UPDATE accounts SET status = ? WHERE row = ? AND status <> 'closed'`,
  rows: [[status, row]],
  expectChanges: 1,
})

export const emailUpdate = (row: number, email: string): AtomicStatement => ({
  sql: 'UPDATE accounts SET email = ? WHERE row = ?',
  rows: [[email, row]],
  expectChanges: 1,
})

export const isFrozen = async (db: LedgerDb, account: number): Promise<boolean> =>
  (await db.selectFrom('accounts').select('frozen_at').where('row', '=', account).executeTakeFirst())?.frozen_at != null

/** Sets the freeze of an account, keeping its first moment, or lifts it. */
export async function setFrozen(file: SqliteFile, account: number, frozenAt: number | null): Promise<void> {
  const value = frozenAt === null ? '?' : 'COALESCE(frozen_at, ?)'
  await file.atomic([{ sql: `UPDATE accounts SET frozen_at = ${value} WHERE row = ?`, rows: [[frozenAt, account]] }])
}

export const listFrozen = (db: LedgerDb): Promise<{ row: number; id: string }[]> =>
  db.selectFrom('accounts').select(['row', 'id']).where('frozen_at', 'is not', null).execute()
