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

interface NewAccount {
  readonly id: string
  /** In lower case already. */
  readonly email: string
  readonly createdAt: number
}

/** An account is never without its wallet: both rows are one commit. */
export const accountInserts = (account: NewAccount): AtomicStatement[] => [
  { sql: INSERT_ACCOUNT, rows: [[account.id, account.email, account.createdAt]], expectChanges: 1 },
  { sql: INSERT_WALLET, rows: [[account.id]], expectChanges: 1 },
]

export const findAccountById = (db: LedgerDb, id: string): Promise<StoredAccount | undefined> =>
  db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()

export const findAccountByEmail = (db: LedgerDb, email: string): Promise<StoredAccount | undefined> =>
  db.selectFrom('accounts').selectAll().where('email', '=', email).executeTakeFirst()

export const findAccountByRow = (db: LedgerDb, row: number): Promise<StoredAccount | undefined> =>
  db.selectFrom('accounts').selectAll().where('row', '=', row).executeTakeFirst()

/** The ids of those of these accounts that are there. Few enough for one question. */
export const listAccountIds = async (db: LedgerDb, rows: readonly number[]): Promise<{ row: number; id: string }[]> =>
  rows.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id']).where('row', 'in', rows).execute()

/** The rows of those of these accounts that are there. */
export const listAccountRows = async (db: LedgerDb, ids: readonly string[]): Promise<{ row: number; id: string }[]> =>
  ids.length === 0 ? [] : db.selectFrom('accounts').select(['row', 'id']).where('id', 'in', ids).execute()

/** Oldest first. The next page begins after the row of this one's last account. */
export const listAccounts = (
  db: LedgerDb,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<StoredAccount[]> =>
  db.selectFrom('accounts').selectAll().where('row', '>', after).orderBy('row').limit(limit).execute()

export interface CountedAccount extends StoredAccount {
  /** That are not revoked. */
  keys: number
  people: number
}

interface SearchOfAccounts {
  /** The next page begins behind the row of this one's last account. */
  readonly before: number
  readonly limit: number
  readonly search: string | undefined
}

/** The thread of the books looks through so many accounts, which takes a few milliseconds, and then turns to others. */
export const ACCOUNTS_AT_ONCE = 4000

/** More of an id than this names one account, or as good as none besides. */
const ID_START = /^acct_[0-9a-z]{6,}$/

/**
 * Newest first, of those whose e-mail or id has the text in it. A text that can only be the start of an id is found in the
 * index of ids; for any other the accounts are looked through slice by slice, until the page is full.
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

/** Only of an account that is there and not closed: that is final. */
export const accountStatusUpdate = (row: number, status: AccountStatus): AtomicStatement => ({
  sql: `UPDATE accounts SET status = ? WHERE row = ? AND status <> 'closed'`,
  rows: [[status, row]],
  expectChanges: 1,
})

/** One change of several that belong together: its only row gets another e-mail. */
export const emailUpdate = (row: number, email: string): AtomicStatement => ({
  sql: 'UPDATE accounts SET email = ? WHERE row = ?',
  rows: [[email, row]],
  expectChanges: 1,
})

export const isFrozen = async (db: LedgerDb, account: number): Promise<boolean> =>
  (await db.selectFrom('accounts').select('frozen_at').where('row', '=', account).executeTakeFirst())?.frozen_at != null

/** Sets or lifts the freeze of an account; its first moment stays. */
export async function setFrozen(file: SqliteFile, account: number, frozenAt: number | null): Promise<void> {
  const sql = frozenAt === null ? LIFT_FREEZE : FREEZE
  await file.atomic([{ sql, rows: [frozenAt === null ? [account] : [frozenAt, account]] }])
}

const FREEZE = `UPDATE accounts SET frozen_at = COALESCE(frozen_at, ?) WHERE row = ?`
const LIFT_FREEZE = `UPDATE accounts SET frozen_at = NULL WHERE row = ?`

export const listFrozen = (db: LedgerDb): Promise<{ row: number; id: string }[]> =>
  db.selectFrom('accounts').select(['row', 'id']).where('frozen_at', 'is not', null).execute()
