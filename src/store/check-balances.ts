import { sql } from 'kysely'
import { PERIOD_ROWS_FROM, SIDES } from '../books/sides.ts'
import { sumThatFits } from './exact-sum.ts'
import type { LedgerDb } from './tables.ts'

/** Where the rows of the books end at this moment, and what the outside world has then. */
export interface BooksEnd {
  last_receipt: number
  last_transfer: number
  /** Null: none is open. */
  first_open: number | null
  outside_nano: bigint
}

/** One statement: the outside's balance is that of exactly the transfers up to the last one. */
export async function findBooksEnd(db: LedgerDb): Promise<BooksEnd> {
  const { rows } = await sql<BooksEnd>`SELECT
    (SELECT COALESCE(MAX(row), 0) FROM receipts) AS last_receipt,
    (SELECT COALESCE(MAX(row), 0) FROM transfers) AS last_transfer,
    (SELECT MIN(row) FROM receipts INDEXED BY open_receipts WHERE state = 'open') AS first_open,
    (SELECT posted_nano FROM buckets WHERE row = ${SIDES.usd.issued}) AS outside_nano`.execute(db)
  return rows[0]!
}

/** Each is 1 where the rule is broken. */
export interface CheckedWallet {
  account: number
  posted: number
  held: number
  overdrawn: number
}

/** A window or a spend cap: what it says was used, and what its receipts say. */
export interface CheckedPeriod {
  /** A `cap` is what is left of a spend cap from when those were buckets: there is nothing to check about it. */
  kind: 'window' | 'cap' | 'counter'
  account: number
  /** As in proved_sums: the row of a window, the subject of a spend cap. */
  subject: string
  period_start: number
  period_end: number
  /** Of a spend cap: the receipt with which its period began. Null for a window. */
  first_receipt: number | null
  closed_at: number | null
  used_nano: bigint
  /** What was proved before of it. */
  proved_nano: bigint
  /** What the movements behind `after` charged, up to and with `last`. Null: they are too many for one statement. */
  charged_nano: bigint | null
  after: number
  last: number
  /** Each is 1 where the rule is broken. */
  held: number
  overdrawn: number
}

/** So many movements are looked through in the statement of their balance; more of them in statements of their own. */
const MOVEMENTS_AT_ONCE = 32

/** The list of buckets is JSON as we write it, without spaces. */
const standsOn = (bucket: string): string =>
  `instr(',' || trim(receipts.buckets, '[]') || ',', ',' || ${bucket} || ',') > 0`

const heldWhere = (which: string): string => `(SELECT ${sumThatFits('hold_nano')} FROM receipts INDEXED BY open_receipts
  WHERE receipts.state = 'open' AND receipts.account = slice.account AND ${which})`

const moversOf = (table: string, which: string): string =>
  `SELECT movement, balance_nano FROM ${table} AS mover WHERE mover.account = slice.account AND ${which} AND movement IS NOT NULL`

/** The wallets of the next accounts, each as it is in this statement: its last movement says what has to be in it. */
export async function checkWallets(db: LedgerDb, after: number, limit: number): Promise<readonly CheckedWallet[]> {
  const { rows } = await sql<CheckedWallet>`
    WITH slice AS MATERIALIZED (SELECT row, account, posted_nano, held_nano FROM buckets INDEXED BY one_wallet_an_account
      WHERE kind = 'wallet' AND account > ${after} ORDER BY account LIMIT ${limit})
    SELECT account, posted_nano < 0 OR held_nano < 0 OR posted_nano - held_nano < 0 AS overdrawn,
        ${sql.raw(`posted_nano <> COALESCE((SELECT balance_nano FROM
          (${moversOf('receipts', `kind = 'wallet'`)} UNION ALL ${moversOf('transfers', `unit = 'usd'`)} ORDER BY movement DESC LIMIT 1)), 0)`)} AS posted,
        ${sql.raw(`held_nano <> ${heldWhere(standsOn('slice.row'))}`)} AS held
      FROM slice`.execute(db)
  return rows
}

const LAST_OF_PLAN = `COALESCE((SELECT MAX(movement) FROM receipts
  WHERE receipts.account = slice.account AND kind = 'builder' AND movement IS NOT NULL), 0)`

/** Of the transfers of a window: whatever stood on it ended behind the first, and before the one with which it expired. */
const transferOf = (of: 'MIN' | 'MAX', which: string): string =>
  `(SELECT ${of}(movement) FROM entries JOIN transfers ON transfers.row = entries.transfer WHERE entries.bucket = slice.row AND ${which})`

const PROVED = (sinceProof: boolean) =>
  sql.raw(`LEFT JOIN proved_sums AS proved ON ${sinceProof} AND proved.account = slice.account
    AND proved.subject = slice.subject AND proved.period_start = slice.period_start`)

export interface WindowSlice {
  /** The row that the last slice ended with, and when that period ends. */
  readonly after: { readonly row: number; readonly end: number }
  readonly limit: number
  /** Only windows in force, from the sums that were proved before; else all that ever were, from their first receipts. */
  readonly sinceProof: boolean
}

export async function checkWindows(
  db: LedgerDb,
  { after, limit, sinceProof }: WindowSlice,
): Promise<readonly CheckedPeriod[]> {
  const columns = sql`SELECT row, kind, account, CAST(row AS TEXT) AS subject, period_start, period_end, closed_at,
    posted_nano, held_nano FROM buckets`
  // Many end at the same time: their rows are the order within it.
  const which = sinceProof
    ? sql`${columns} INDEXED BY live_windows_by_end
          WHERE kind = 'window' AND closed_at IS NULL AND period_end = ${after.end} AND row > ${after.row}
        UNION ALL ${columns} INDEXED BY live_windows_by_end
          WHERE kind = 'window' AND closed_at IS NULL AND period_end > ${after.end}
        ORDER BY period_end, row LIMIT ${limit}`
    : sql`${columns} WHERE row > ${Math.max(after.row, PERIOD_ROWS_FROM - 1)} ORDER BY row LIMIT ${limit}`
  const { rows } = await sql<CheckedPeriod>`
    WITH slice AS MATERIALIZED (${which}),
      ranged AS MATERIALIZED (
        SELECT slice.*, COALESCE(proved.used_nano, 0) AS proved_nano,
            COALESCE(proved.movement, ${sql.raw(transferOf('MIN', 'TRUE'))}, 0) AS after,
            COALESCE(${sql.raw(transferOf('MAX', `transfers.kind = 'expiry'`))}, ${sql.raw(LAST_OF_PLAN)}) AS last,
            (SELECT ${sql.raw(sumThatFits('delta_nano'))} FROM entries WHERE entries.bucket = slice.row) - posted_nano AS used_nano
          FROM slice ${PROVED(sinceProof)})
    SELECT kind, account, subject, period_start, period_end, NULL AS first_receipt, closed_at, used_nano, proved_nano, after, last,
        ${sql.raw(`CASE WHEN last - after <= ${MOVEMENTS_AT_ONCE} THEN (SELECT ${sumThatFits('charge_nano')} FROM receipts
          WHERE receipts.account = slice.account AND kind = 'builder' AND movement > slice.after AND movement <= slice.last
            AND ${standsOn('slice.row')}) END`)} AS charged_nano,
        ${sql.raw(`held_nano <> ${heldWhere(standsOn('slice.row'))}`)} AS held,
        posted_nano < 0 OR held_nano < 0 OR posted_nano - held_nano < 0 AS overdrawn
      FROM ranged AS slice`.execute(db)
  return rows
}

/** Of spend caps: the key that a subject names, and the name that people know its cap by. */
const CAP_KEY = `CAST(substr(subject, 5) AS INTEGER)`
const CAP_NAME = `substr(subject, 5 + instr(substr(subject, 5), ':'))`

/** Receipts that count against the spend cap, in the period that runs. */
const COUNTED = `receipts.key = slice.key AND receipts.row >= slice.first_receipt
  AND instr(' ' || receipts.caps || ' ', ' ' || slice.name || ' ') > 0`

const chargedOf = (kind: string): string => `(SELECT ${sumThatFits('charge_nano')} FROM receipts
  WHERE receipts.account = slice.account AND kind = '${kind}' AND movement > slice.after AND movement <= slice.last AND ${COUNTED})`

const lastOf = (kind: string): string => `COALESCE((SELECT MAX(movement) FROM receipts
  WHERE receipts.account = slice.account AND kind = '${kind}' AND movement IS NOT NULL), 0)`

export interface CapSlice {
  readonly after: { readonly account: number; readonly subject: string }
  readonly limit: number
  readonly sinceProof: boolean
}

/** Counters of spend caps, in the order of their accounts. */
export async function checkCaps(
  db: LedgerDb,
  { after, limit, sinceProof }: CapSlice,
): Promise<readonly CheckedPeriod[]> {
  const { rows } = await sql<CheckedPeriod>`
    WITH slice AS MATERIALIZED (
        SELECT *, ${sql.raw(CAP_KEY)} AS key, ${sql.raw(CAP_NAME)} AS name FROM spend_counters
          WHERE (account, subject) > (${after.account}, ${after.subject}) ORDER BY account, subject LIMIT ${limit}),
      ranged AS MATERIALIZED (
        SELECT slice.*, COALESCE(proved.used_nano, slice.carried_nano) AS proved_nano, COALESCE(proved.movement, 0) AS after,
            MAX(${sql.raw(lastOf('wallet'))}, ${sql.raw(lastOf('builder'))}) AS last
          FROM slice ${PROVED(sinceProof)})
    SELECT 'counter' AS kind, account, subject, period_start, period_end, first_receipt, NULL AS closed_at, spent_nano AS used_nano, proved_nano, after, last,
        ${sql.raw(`CASE WHEN last - after <= ${MOVEMENTS_AT_ONCE} THEN ${chargedOf('wallet')} + ${chargedOf('builder')} END`)} AS charged_nano,
        ${sql.raw(`held_nano <> ${heldWhere(COUNTED)}`)} AS held,
        spent_nano < 0 OR held_nano < 0 OR spent_nano > bound_nano - held_nano AS overdrawn
      FROM ranged AS slice`.execute(db)
  return rows
}
