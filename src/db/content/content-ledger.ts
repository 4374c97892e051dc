import type { AtomicStatement, SqliteFile } from '../sqlite/sqlite-file.ts'
import type { TimesAhead } from '../sqlite/times-ahead.ts'

/** Which ledger content.db belongs to, and how far that had got when content.db was last written. */
interface ContentLedger {
  readonly ledger: string
  readonly mark: ContentMark
}

/** As `LedgerMark` of the store: the newest receipt and the newest transfer of dollars. */
interface ContentMark {
  readonly receipt: number
  readonly requestId: string
  readonly transfer: number
  readonly transferAt: number
}

/** Undefined in a new file, and in one that a version wrote which knew nothing of ledgers. */
export async function findContentLedger(file: SqliteFile): Promise<ContentLedger | undefined> {
  const sql = `SELECT ledger, receipt, request_id AS requestId, transfer, transfer_at AS transferAt FROM of_ledger`
  const [row] = await file.all<ContentMark & { readonly ledger: string }>(sql, [])
  if (row === undefined) return undefined
  const { ledger, ...mark } = row
  return { ledger, mark }
}

const BELONG = `INSERT INTO of_ledger (one, ledger, receipt, request_id, transfer, transfer_at) VALUES (1, ?, ?, ?, ?, ?)`
const NAME_OWNER = 'INSERT INTO owners (owner, id) VALUES (?, ?)'

/** Makes the file this ledger's. `accounts` are those of an older file, by the row numbers that it knows them by. */
export async function adoptContent(
  file: SqliteFile,
  { ledger, mark }: ContentLedger,
  accounts: readonly { readonly row: number; readonly id: string }[],
): Promise<void> {
  await file.atomic([
    { sql: NAME_OWNER, rows: accounts.map(({ row, id }) => [row, id]) },
    { sql: BELONG, rows: [[ledger, mark.receipt, mark.requestId, mark.transfer, mark.transferAt]] },
  ])
}

const OLDER_OWNERS = `SELECT account FROM answers UNION SELECT account FROM account_keys UNION SELECT account FROM responses
  UNION SELECT account FROM items UNION SELECT account FROM usage_series UNION SELECT account FROM usage_upto`

/** The row numbers by which a file that was written before there were ids in it knows its accounts. */
export async function listOlderOwners(file: SqliteFile): Promise<number[]> {
  const rows = await file.all<{ account: number }>(OLDER_OWNERS, [])
  return rows.map(({ account }) => account)
}

const SAMPLE = 1000
const NEWEST_REQUESTS = `SELECT * FROM (SELECT request_id, account FROM answers ORDER BY rowid DESC LIMIT ${SAMPLE})
  UNION SELECT * FROM (SELECT request_id, account FROM responses
    WHERE status IN ('completed', 'incomplete') ORDER BY response DESC LIMIT ${SAMPLE})`

/** The newest requests of which an older file has a whole answer, with the row numbers of their accounts. */
export const listOlderRequests = (file: SqliteFile): Promise<{ request_id: string; account: number }[]> =>
  file.all(NEWEST_REQUESTS, [])

/** How far an older file has counted accounts: the number and the time of the last receipt of each. */
export const listOlderCounts = (file: SqliteFile): Promise<{ account: number; movement: number; closedAt: number }[]> =>
  file.all(`SELECT account, movement, closed_at AS closedAt FROM usage_upto WHERE closed_at > 0 LIMIT ${SAMPLE}`, [])

const MOVE_ON: AtomicStatement = {
  sql: 'UPDATE of_ledger SET receipt = ?, request_id = ?, transfer = ?, transfer_at = ?',
  rows: [],
}

/**
 * The same file, which notes with whatever it writes how far the ledger has got: no commit of its own, and no row unless the
 * ledger has moved on. `close` notes the last of it.
 */
export function withMarks(file: SqliteFile, current: () => ContentMark): SqliteFile {
  let noted = current()
  const atomic = async (statements: readonly AtomicStatement[]): Promise<number[]> => {
    const mark = current()
    if (mark === noted) return file.atomic(statements)
    const { receipt, requestId, transfer, transferAt } = mark
    const changes = await file.atomic([
      ...statements,
      { ...MOVE_ON, rows: [[receipt, requestId, transfer, transferAt]] },
    ])
    noted = mark
    return changes.slice(0, statements.length)
  }
  return {
    driver: file.driver,
    all: (sql, parameters) => file.all(sql, parameters),
    atomic,
    atomicEach: (groups) => file.atomicEach(groups),
    async close() {
      await atomic([]).catch(() => {})
      await file.close()
    },
  }
}

const DAY_MS = 86_400_000

/** Everything in the second file that a clock which ran ahead has written and that retention or rights depend on. */
export const CONTENT_TIMES_AHEAD: readonly TimesAhead[] = [
  {
    ...{ what: 'kept_answers', table: 'answers', key: 'rowid', columns: ['at', 'expires_at'], where: 'at > ?3' },
    repair: ({ at, expires_at: end }, { to }) => ({ at: to, expires_at: Number(end) - (Number(at) - to) }),
  },
  {
    ...{ what: 'stored_responses', table: 'responses', key: 'response', columns: ['created_at', 'expires_at'] },
    where: 'created_at > ?3',
    repair: ({ created_at: at, expires_at: end }, { to }) => ({
      created_at: to,
      // 0 is that of one that was deleted.
      expires_at: Math.max(0, Number(end) - (Number(at) - to)),
    }),
  },
  {
    // A lockout lasts minutes: one that ends more than a day ahead is of the time that is taken back.
    ...{ what: 'lockouts', table: 'lockouts', key: 'name', slicedBy: 'until', columns: ['until'] },
    where: `until > ?3 + ${DAY_MS}`,
    repair: ({ until }, { from, to }) => ({ until: Math.max(to, Number(until) - (from - to)) }),
  },
  {
    ...{ what: 'usage_series', table: 'usage_series', key: 'series', columns: ['last_at'], where: 'last_at > ?3' },
    repair: (_, { to }) => ({ last_at: to }),
  },
]
