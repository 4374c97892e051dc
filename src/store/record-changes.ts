import type { Change, ReceiptClosed, ReceiptOpened, Transferred } from '../books/changes.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'
import { BUCKET_EXTERNAL, BUCKET_REVENUE } from './migrations/0001-ledger.ts'
import { insertInto, type RowStatement, updateRows } from './row-statements.ts'

/** Everything that a batch writes, in this order: the statement of each kind of row. */
const STATEMENTS = {
  opened: insertInto(
    'receipts',
    [
      ...(['row', 'request_id', 'account', 'key', 'kind', 'model', 'price_version', 'buckets'] as const),
      ...(['hold_nano', 'output_cap', 'output_bound', 'input_estimate', 'opened_at'] as const),
    ],
    { state: "'open'" },
  ),
  closed: updateRows('receipts', {
    set: [
      ...(['state', 'closed_at', 'outcome', 'lane'] as const),
      ...(['uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning', 'estimated'] as const),
      ...(['tier', 'cost_nano', 'charge_nano', 'shortfall_nano', 'first_byte_ms', 'total_ms', 'attempts'] as const),
    ],
    // Compared in the same statement: a receipt that somebody else has closed undoes the whole batch.
    where: "receipts.state = 'open'",
  }),
  transfers: insertInto('transfers', ['row', 'kind', 'account', 'ref', 'reason', 'amount_nano', 'at'], {
    unit: "'usd'",
  }),
  entries: insertInto('entries', ['transfer', 'seq', 'bucket', 'delta_nano']),
  // Deltas, not balances: the row in the file is the truth and its CHECK has the last word.
  moved: updateRows('buckets', { add: ['posted_nano', 'held_nano'] }),
  marks: {
    sql: `INSERT INTO marks (node, at, packed) VALUES (?, ?, ?)
      ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed`,
  },
} satisfies Record<string, RowStatement>

type RowKind = keyof typeof STATEMENTS
const ROW_KINDS = Object.keys(STATEMENTS) as RowKind[]

/** The progress of every running stream of this node, replaced as a whole. */
export interface PackedMarks {
  readonly node: number
  readonly at: number
  readonly packed: Uint8Array
}

/** A batch of changes as the fewest row writes: one insert or update a receipt, one update a bucket however often it moved. */
export function recordChanges(changes: readonly Change[], marks: PackedMarks | undefined): AtomicStatement[] {
  const rows: BatchRows = { opened: [], closed: [], transfers: [], entries: [], moved: [], marks: [] }
  const moves: Moves = new Map()
  for (const change of changes) collect(rows, moves, change)
  for (const [bucket, { posted, held }] of moves) {
    if (posted !== 0n || held !== 0n) rows.moved.push([posted, held, bucket])
  }
  if (marks) rows.marks.push([marks.node, marks.at, marks.packed])
  const written = ROW_KINDS.filter((kind) => rows[kind].length > 0)
  return written.map((kind) => ({ ...STATEMENTS[kind], rows: rows[kind] }))
}

type BatchRows = Record<RowKind, SqlValue[][]>
type Moves = Map<number, { posted: bigint; held: bigint }>

function collect(rows: BatchRows, moves: Moves, change: Change): void {
  switch (change.kind) {
    case 'receipt-opened':
      rows.opened.push(openedRow(change))
      return
    case 'receipt-closed':
      rows.closed.push(closedRow(change))
      // The other entry of the charge: see the view usage_entries.
      addMove(moves, BUCKET_REVENUE, change.charge, 0n)
      return
    case 'bucket-moved':
      addMove(moves, change.bucket, change.posted, change.held)
      return
    case 'transferred':
      addTransfer(rows, moves, change)
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

function addMove(moves: Moves, bucket: number, posted: bigint, held: bigint): void {
  const move = moves.get(bucket)
  if (!move) {
    moves.set(bucket, { posted, held })
    return
  }
  move.posted += posted
  move.held += held
}

/** Double entry: what enters the wallet comes from outside, so the two entries of a transfer sum to zero. */
function addTransfer(rows: BatchRows, moves: Moves, change: Transferred): void {
  const { transfer, transferKind, account, bucket, amount, reason, ref, at } = change
  rows.transfers.push([transfer, transferKind, account, ref, reason, amount, at])
  rows.entries.push([transfer, 0, bucket, amount], [transfer, 1, BUCKET_EXTERNAL, -amount])
  addMove(moves, BUCKET_EXTERNAL, -amount, 0n)
}
