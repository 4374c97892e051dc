import type { Change, ReceiptClosed, ReceiptOpened, Transferred } from '../books/changes.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'
import { BUCKET_EXTERNAL, BUCKET_REVENUE } from './migrations/0001-ledger.ts'

const OPEN_RECEIPT = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets,
  hold_nano, output_cap, output_bound, input_estimate, opened_at)
  VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?)`

// The state is compared in the same statement: a receipt that somebody else has closed undoes the whole batch.
const CLOSE_RECEIPT = `UPDATE receipts SET state = ?, closed_at = ?, outcome = ?, lane = ?, uncached_input = ?,
  cached_input = ?, cache_write = ?, output = ?, reasoning = ?, estimated = ?, tier = ?, cost_nano = ?, charge_nano = ?,
  shortfall_nano = ?, first_byte_ms = ?, total_ms = ?, attempts = ? WHERE row = ? AND state = 'open'`

// Deltas, not balances: the row in the file is the truth and its CHECK has the last word.
const MOVE_BUCKET = `UPDATE buckets SET posted_nano = posted_nano + ?, held_nano = held_nano + ? WHERE row = ?`

const ADD_TRANSFER = `INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at)
  VALUES (?, ?, 'usd', ?, ?, ?, ?, ?)`

const ADD_ENTRY = `INSERT INTO entries (transfer, seq, bucket, delta_nano) VALUES (?, ?, ?, ?)`

const REPLACE_MARK = `INSERT INTO marks (node, at, packed) VALUES (?, ?, ?)
  ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed`

/** The progress of every running stream of this node, replaced as a whole. */
export interface PackedMarks {
  readonly node: number
  readonly at: number
  readonly packed: Uint8Array
}

/** A batch of changes as the fewest row writes: one insert or update a receipt, one update a bucket however often it moved. */
export function recordChanges(changes: readonly Change[], marks: PackedMarks | undefined): AtomicStatement[] {
  const rows: BatchRows = { opened: [], closed: [], transfers: [], entries: [], moves: new Map() }
  for (const change of changes) collect(rows, change)
  const moved = [...rows.moves].filter(([, move]) => move.posted !== 0n || move.held !== 0n)
  return [
    { sql: OPEN_RECEIPT, rows: rows.opened, expectChanges: 1 },
    { sql: CLOSE_RECEIPT, rows: rows.closed, expectChanges: 1 },
    { sql: ADD_TRANSFER, rows: rows.transfers, expectChanges: 1 },
    { sql: ADD_ENTRY, rows: rows.entries, expectChanges: 1 },
    { sql: MOVE_BUCKET, rows: moved.map(([row, move]) => [move.posted, move.held, row]), expectChanges: 1 },
    { sql: REPLACE_MARK, rows: marks ? [[marks.node, marks.at, marks.packed]] : [] },
  ].filter((statement) => statement.rows.length > 0)
}

interface BatchRows {
  readonly opened: SqlValue[][]
  readonly closed: SqlValue[][]
  readonly transfers: SqlValue[][]
  readonly entries: SqlValue[][]
  readonly moves: Map<number, { posted: bigint; held: bigint }>
}

function collect(rows: BatchRows, change: Change): void {
  switch (change.kind) {
    case 'receipt-opened':
      rows.opened.push(openedRow(change))
      return
    case 'receipt-closed':
      rows.closed.push(closedRow(change))
      // The other entry of the charge: see the view usage_entries.
      addMove(rows, { bucket: BUCKET_REVENUE, posted: change.charge, held: 0n })
      return
    case 'bucket-moved':
      addMove(rows, change)
      return
    case 'transferred':
      addTransfer(rows, change)
      return
    default:
      assertNever(change)
  }
}

const openedRow = (change: ReceiptOpened): SqlValue[] => [
  change.receipt,
  change.requestId,
  change.account,
  change.key,
  change.keyKind,
  change.model,
  change.priceVersion,
  `[${change.buckets.join(',')}]`,
  change.hold,
  change.cap,
  change.outputBound,
  change.inputEstimate,
  change.at,
]

const closedRow = (change: ReceiptClosed): SqlValue[] => [
  change.state,
  change.at,
  change.outcome,
  change.lane ?? null,
  change.usage?.uncachedInput ?? null,
  change.usage?.cachedInput ?? null,
  change.usage?.cacheWrite ?? null,
  change.usage?.output ?? null,
  change.usage?.reasoning ?? null,
  change.usage ? Number(change.usage.estimated) : null,
  change.tier ?? null,
  change.cost,
  change.charge,
  change.shortfall,
  change.firstByteMs ?? null,
  change.totalMs,
  change.attempts,
  change.receipt,
]

function addMove(rows: BatchRows, change: { bucket: number; posted: bigint; held: bigint }): void {
  const move = rows.moves.get(change.bucket)
  if (!move) {
    rows.moves.set(change.bucket, { posted: change.posted, held: change.held })
    return
  }
  move.posted += change.posted
  move.held += change.held
}

/** Double entry: what enters the wallet comes from outside, so the two entries of a transfer sum to zero. */
function addTransfer(rows: BatchRows, change: Transferred): void {
  const { transfer, transferKind, account, bucket, amount, reason, ref, at } = change
  rows.transfers.push([transfer, transferKind, account, ref, reason, amount, at])
  rows.entries.push([transfer, 0, bucket, amount], [transfer, 1, BUCKET_EXTERNAL, -amount])
  addMove(rows, { bucket: BUCKET_EXTERNAL, posted: -amount, held: 0n })
}
