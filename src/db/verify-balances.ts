import { sql } from 'kysely'
import { PERIOD_ROWS_FROM, SIDES } from '../ledger/state/state.ts'
import { isOfKind, RECEIPT_KINDS, TRANSFER_UNITS } from './statement.ts'
import type { LedgerDb } from './tables.ts'

/**
 * A sum in two columns, because SUM fails where it passes 64 bits: the high parts and the low parts of the amounts. Of a
 * negative amount the high part is negative and the low one is not.
 */
export const highAndLow = (amount: string): string =>
  `COALESCE(SUM((${amount}) >> 32), 0) AS high_nano, COALESCE(SUM((${amount}) & 4294967295), 0) AS low_nano`

/** As one column, where the sum fits: else it is a number of another type, equal to no amount. */
const sumThatFits = (amount: string): string =>
  `(COALESCE(SUM((${amount}) >> 32), 0) * 4294967296 + COALESCE(SUM((${amount}) & 4294967295), 0))`

export const exactSum = ({ high_nano, low_nano }: { readonly high_nano: bigint; readonly low_nano: bigint }): bigint =>
  (high_nano << 32n) + low_nano

/** Where the rows of the books end at this moment, and what the outside world has then. */
interface LedgerEnd {
  last_receipt: number
  last_transfer: number
  /** Null: none is open. */
  first_open: number | null
  outside_nano: bigint
}

/** One statement: the outside's balance is that of exactly the transfers up to the last one. */
export async function findLedgerEnd(db: LedgerDb): Promise<LedgerEnd> {
  const { rows } = await sql<LedgerEnd>`SELECT
    (SELECT COALESCE(MAX(row), 0) FROM receipts) AS last_receipt,
    (SELECT COALESCE(MAX(row), 0) FROM transfers) AS last_transfer,
    (SELECT MIN(row) FROM receipts INDEXED BY open_receipts WHERE state = 'open') AS first_open,
    (SELECT posted_nano FROM buckets WHERE row = ${SIDES.usd.issued}) AS outside_nano`.execute(db)
  return rows[0]!
}

/** Each is 1 where the rule is broken. */
interface CheckedWallet {
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

interface WindowSlice {
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

interface CapSlice {
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

/** The movements of an account after `after`, up to and including `to`. They are final. */
interface MovementSlice {
  readonly account: number
  readonly after: number
  readonly to: number
}

interface HighAndLow {
  high_nano: bigint
  low_nano: bigint
}

const charges = sql.raw(highAndLow('charge_nano'))

const inSlice = ({ account, after, to }: MovementSlice, kind: (typeof RECEIPT_KINDS)[number]) =>
  sql`receipts.account = ${account} AND ${isOfKind(kind)} AND movement > ${after} AND movement <= ${to} AND charge_nano > 0`

/** What was charged to a window of a plan. */
export async function sumChargesOfWindow(db: LedgerDb, slice: MovementSlice, bucket: number): Promise<bigint> {
  const { rows } = await sql<HighAndLow>`SELECT ${charges} FROM receipts, json_each(receipts.buckets) AS held_on
    WHERE ${inSlice(slice, 'builder')} AND held_on.value = ${bucket}`.execute(db)
  return exactSum(rows[0]!)
}

/** The keys that were charged under spend caps. */
export async function listKeysUnderCaps(db: LedgerDb, slice: MovementSlice): Promise<readonly number[]> {
  const ofKind = (kind: (typeof RECEIPT_KINDS)[number]) =>
    sql`SELECT key FROM receipts WHERE ${inSlice(slice, kind)} AND caps IS NOT NULL`
  const { rows } = await sql<{ key: number }>`${sql.join(RECEIPT_KINDS.map(ofKind), sql` UNION `)}`.execute(db)
  return rows.map(({ key }) => key)
}

export interface CountedCap {
  readonly key: number
  /** As on receipts: `day`. */
  readonly name: string
  /** The receipt with which its period began. */
  readonly firstReceipt: number
  /** It counts the movements after `from`, up to and including `to`. */
  readonly from: number
  readonly to: number
}

/** What was charged to each of the spend caps, in their order. */
export async function sumChargesOfCaps(
  db: LedgerDb,
  slice: MovementSlice,
  caps: readonly CountedCap[],
): Promise<readonly bigint[]> {
  const asked = JSON.stringify(caps.map(({ key, name, firstReceipt, from, to }) => [key, name, firstReceipt, from, to]))
  const ofKind = (kind: (typeof RECEIPT_KINDS)[number]) => sql`
    SELECT counted.place, ${charges} FROM receipts JOIN (
        SELECT key AS place, value ->> 0 AS key, value ->> 1 AS name, value ->> 2 AS first, value ->> 3 AS after, value ->> 4 AS last
          FROM json_each(${asked})) AS counted
      ON counted.key = receipts.key AND receipts.row >= counted.first
        AND movement > counted.after AND movement <= counted.last
        AND instr(' ' || receipts.caps || ' ', ' ' || counted.name || ' ') > 0
      WHERE ${inSlice(slice, kind)} AND caps IS NOT NULL GROUP BY 1`
  const { rows } = await sql<
    HighAndLow & { place: number }
  >`${sql.join(RECEIPT_KINDS.map(ofKind), sql` UNION ALL `)}`.execute(db)
  const sums = caps.map(() => 0n)
  for (const row of rows) sums[row.place]! += exactSum(row)
  return sums
}

/**
 * The last movement of an account up to a time, 0 for none: times never fall where numbers rise. Goes up from 0 in steps, each
 * half as large as the one before, in one statement. `otherwise` where an operator has set ledger time back: then they did fall.
 */
export async function findMovementAt(
  db: LedgerDb,
  account: number,
  { last, at, otherwise }: { readonly last: number; readonly at: number; readonly otherwise: number },
): Promise<number> {
  const ofKind = (kind: (typeof RECEIPT_KINDS)[number]) =>
    sql`(SELECT closed_at FROM receipts WHERE account = ${account} AND ${isOfKind(kind)} AND movement = reached + step)`
  const ofUnit = (unit: (typeof TRANSFER_UNITS)[number]) =>
    sql`(SELECT at FROM transfers WHERE account = ${account} AND unit = ${sql.lit(unit)} AND movement = reached + step)`
  const time = sql`COALESCE(${sql.join([...RECEIPT_KINDS.map(ofKind), ...TRANSFER_UNITS.map(ofUnit)])}, 0)`
  const first = last < 1 ? 0 : 2 ** Math.floor(Math.log2(last))
  const { rows } = await sql<{ movement: number }>`WITH RECURSIVE halved (reached, step) AS (
      SELECT 0, ${first}
      UNION ALL
      SELECT CASE WHEN reached + step <= ${last} AND ${time} <= ${at} THEN reached + step ELSE reached END, step / 2
        FROM halved WHERE step > 0)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM clock_corrections) THEN ${otherwise} ELSE MAX(reached) END AS movement FROM halved`.execute(
    db,
  )
  return rows[0]?.movement ?? 0
}
