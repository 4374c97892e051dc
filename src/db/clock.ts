import { type RawBuilder, sql } from 'kysely'
import { CAP_KINDS, dayOfMonth, isCapName, type Period, periodAt, RUN_CAPS } from '../model/allowance.ts'
import { changeOne, type SqlRow, type SqlStore, type SqlValue } from './sql-store.ts'

const DAY_MS = 86_400_000
/** The longest grace period of a rotated key. */
const GRACE_MAX_MS = 30 * DAY_MS
/** The models of one key may take 100 kB. */
const KEYS_AT_ONCE = 100

const ms = (row: SqlRow, column: string): number => Number(row[column])

/** Moves a span to the time that the clock is set back to, with the same length. */
export const beginsNow =
  (begins: string, ends: string) =>
  (row: SqlRow, { to }: SetBack) => ({ [begins]: to, [ends]: ms(row, ends) - (ms(row, begins) - to) })

const inPeriod = (row: SqlRow, setBack: SetBack) => {
  const name = String(row.subject).split(':').at(-1)!
  const { start, end } = periodSetBack(name, { start: ms(row, 'period_start'), end: ms(row, 'period_end') }, setBack)
  return { period_start: start, period_end: end }
}

/**
 * The times in the ledger that a fast clock has written and that rights depend on. Closed receipts, transfers and rows of
 * the audit log keep their times.
 */
export const LEDGER_TIMES_AHEAD: readonly TimesAhead[] = [
  {
    ...{ what: 'windows', table: 'buckets', key: 'row', slicedBy: 'account', among: 'closed_at IS NULL' },
    ...{ columns: ['period_start', 'period_end'], reads: ['subject'], where: `kind = 'window' AND period_start > ?3` },
    repair: inPeriod,
  },
  {
    ...{ what: 'caps', table: 'spend_counters', key: 'row' },
    ...{ columns: ['period_start', 'period_end'], reads: ['subject'], where: 'period_start > ?3' },
    repair: inPeriod,
  },
  {
    ...{ what: 'subscriptions', table: 'subscriptions', key: 'row', columns: ['started_at', 'billing_day'] },
    where: 'started_at > ?3',
    repair: (_, { to }) => ({ started_at: to, billing_day: dayOfMonth(to) }),
  },
  {
    ...{ what: 'idempotency_keys', table: 'claims', key: 'receipt', columns: ['at', 'expires_at'], where: 'at > ?3' },
    repair: beginsNow('at', 'expires_at'),
  },
  {
    ...{ what: 'sessions', table: 'sessions', key: 'row' },
    columns: ['created_at', 'seen_at', 'confirmed_at', 'expires_at'],
    where: 'MAX(created_at, seen_at, confirmed_at) > ?3',
    repair: (row, { to }) => ({
      created_at: Math.min(ms(row, 'created_at'), to),
      seen_at: Math.min(ms(row, 'seen_at'), to),
      confirmed_at: Math.min(ms(row, 'confirmed_at'), to),
      expires_at: ms(row, 'expires_at') - Math.max(0, ms(row, 'created_at') - to),
    }),
  },
  {
    ...{ what: 'invitations', table: 'invites', key: 'row', columns: ['created_at', 'expires_at'] },
    where: 'created_at > ?3',
    repair: beginsNow('created_at', 'expires_at'),
  },
  {
    ...{ what: 'rotated_keys', table: 'keys', key: 'row', columns: ['former_until'], sliceRows: KEYS_AT_ONCE },
    where: `former_until > ?3 + ${GRACE_MAX_MS}`,
    repair: (row, { from, to }) => ({ former_until: Math.max(to, ms(row, 'former_until') - (from - to)) }),
  },
  {
    ...{ what: 'running_requests', table: 'receipts', key: 'row', columns: ['opened_at'], among: `state = 'open'` },
    where: 'opened_at > ?3',
    repair: (_, { to }) => ({ opened_at: to }),
  },
  {
    ...{ what: 'progress_marks', table: 'marks', key: 'node', columns: ['at'], where: 'at > ?3' },
    repair: (_, { to }) => ({ at: to }),
  },
]

/** Ends that were meant as a date or as a span from the wrong time: an operator has to look at `id`. */
export const LEDGER_TIMES_UNCLEAR: readonly TimesAhead[] = [
  {
    ...{ what: 'plans', table: 'subscriptions', key: 'row' },
    ...{ columns: [], reads: ['(SELECT id FROM accounts WHERE accounts.row = subscriptions.account) AS id'] },
    // The newest plan of an account counts. It began at the wrong time, or was ended by it.
    where: `ends_at > ?3 AND (started_at > ?3 OR ends_at <= ?4)
      AND row = (SELECT MAX(newer.row) FROM subscriptions AS newer WHERE newer.account = subscriptions.account)`,
  },
  {
    ...{ what: 'keys', table: 'keys', key: 'row', columns: [], reads: ['id'], sliceRows: KEYS_AT_ONCE },
    where: 'created_at > ?3 AND expires_at IS NOT NULL AND revoked_at IS NULL',
  },
  {
    ...{ what: 'codes', table: 'codes', key: 'row', columns: [], reads: ['id'] },
    where: 'created_at > ?3 AND expires_at IS NOT NULL AND redeemed_at IS NULL AND withdrawn_at IS NULL',
  },
  {
    ...{ what: 'raises of caps', table: 'cap_raises', key: 'subject', slicedBy: 'account', columns: [] },
    ...{ reads: ['(SELECT id FROM accounts WHERE accounts.row = cap_raises.account) AS id'] },
    where: 'until > ?3',
  },
]

/**
 * Turns a period in the future into the running one. A day, week, month or quarter becomes that of `to`; a span from its first
 * use (`5h`) moves by as much as the clock. `name` is that of the window or the cap.
 */
export function periodSetBack(name: string, { start, end }: Period, { from, to }: SetBack): Period {
  if (name === 'month') return periodAt({ kind: 'month', day: dayOfTurn(start, end) }, to, 1)
  if (Object.hasOwn(RUN_CAPS, name)) return { start, end }
  if (isCapName(name)) return periodAt(CAP_KINDS[name].cycle, to, 1)
  return { start: start - (from - to), end: end - (from - to) }
}

/** A month too short for the billing day ends on its last day; then `start` has the billing day. */
const dayOfTurn = (start: number, end: number): number =>
  dayOfMonth(end) < 28 ? dayOfMonth(end) : Math.max(dayOfMonth(start), dayOfMonth(end))

/** Records that an operator sets ledger time back: all rows so far have the wrong time. */
export const clockCorrectionInsert = (from: number, to: number) =>
  changeOne(
    `INSERT INTO clock_corrections (set_back_from, set_back_to, last_receipt, last_transfer)
      SELECT ?, ?, COALESCE((SELECT MAX(row) FROM receipts), 0), COALESCE((SELECT MAX(row) FROM transfers), 0)`,
    ...[from, to],
  )

/**
 * The time of a row for searches by time. Rows from before ledger time was set back count as no later than what it was set
 * back to, so that times never fall where numbers rise.
 */
export function correctedTime(table: 'receipts' | 'transfers', column: string): RawBuilder<number> {
  const time = sql.ref(`${table}.${column}`)
  const last = sql.ref(table === 'receipts' ? 'last_receipt' : 'last_transfer')
  return sql<number>`COALESCE((SELECT MIN(set_back_to) FROM clock_corrections
    WHERE ${last} >= ${sql.ref(`${table}.row`)} AND set_back_to < ${time}), ${time})`
}

export interface SetBack {
  readonly from: number
  readonly to: number
}

/** Rows of one table with times after `to`, and their repair. `where` sees `to` as `?3` and `from` as `?4`. */
export interface TimesAhead {
  /** The name in reports. */
  readonly what: string
  readonly table: string
  /** The column that identifies a row. */
  readonly key: string
  /** The indexed integer column that slices are cut by; by default the key. */
  readonly slicedBy?: string
  /** The rows that slices are cut from, as in a partial index. */
  readonly among?: string
  /** Rows per slice, where rows may be large. */
  readonly sliceRows?: number
  /** The columns to repair. */
  readonly columns: readonly string[]
  /** Other columns that the repair reads. */
  readonly reads?: readonly string[]
  readonly where: string
  /** New values of the columns. Undefined where an operator has to decide. */
  readonly repair?: (row: SqlRow, setBack: SetBack) => Readonly<Record<string, SqlValue>>
}

/** A few milliseconds of the worker. */
const SLICE_ROWS = 1000

/** All such rows, slice by slice, so that other callers of the file have a turn in between. */
export async function* listTimesAhead(
  file: Pick<SqlStore, 'all'>,
  { table, key, slicedBy = key, among = 'TRUE', sliceRows = SLICE_ROWS, columns, reads = [], where }: TimesAhead,
  { from, to }: SetBack,
): AsyncGenerator<SqlRow[]> {
  const sliceEnd = `SELECT ${slicedBy} AS place FROM ${table} WHERE ${among} AND ${slicedBy} > ?
    ORDER BY ${slicedBy} LIMIT 1 OFFSET ${sliceRows - 1}`
  const inSlice = `SELECT ${[key, ...columns, ...reads].join(', ')} FROM ${table}
    WHERE ${among} AND ${slicedBy} > ?1 AND ${slicedBy} <= ?2 AND ?3 < ?4 AND (${where})`
  for (let after = Number.MIN_SAFE_INTEGER; after < Number.MAX_SAFE_INTEGER; ) {
    const [slice] = await file.all<{ place: number }>(sliceEnd, [after])
    const last: number = slice?.place ?? Number.MAX_SAFE_INTEGER
    const rows = await file.all(inSlice, [after, last, to, from])
    if (rows.length > 0) yield rows
    after = last
  }
}

/** Repairs the rows and returns how many there were. Idempotent. */
export async function repairTimesAhead(
  file: Pick<SqlStore, 'all' | 'atomic'>,
  ahead: TimesAhead,
  setBack: SetBack,
): Promise<number> {
  const { table, key, columns, repair } = ahead
  if (repair === undefined) return 0
  const sql = `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE ${key} = ?`
  let repaired = 0
  for await (const rows of listTimesAhead(file, ahead, setBack)) {
    const values = rows.map((row) => {
      const changed = { ...row, ...repair(row, setBack) }
      return [...columns, key].map((column) => changed[column]!)
    })
    await file.atomic([{ sql, rows: values }])
    repaired += rows.length
  }
  return repaired
}
