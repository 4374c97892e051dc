import type {
  BucketMoved,
  Change,
  PeriodOpened,
  ReceiptClosed,
  ReceiptOpened,
  SubscriptionStarted,
  Transferred,
} from '../books/changes.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'

const OPEN_RECEIPT = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets,
  hold_nano, output_cap, output_bound, input_estimate, cached_estimate, opened_at)
  VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// The state is compared in the same statement: a receipt that somebody else has closed undoes the whole batch.
const CLOSE_RECEIPT = `UPDATE receipts SET state = ?, closed_at = ?, outcome = ?, lane = ?, uncached_input = ?,
  cached_input = ?, cache_write = ?, output = ?, reasoning = ?, estimated = ?, tier = ?, cost_nano = ?, charge_nano = ?,
  shortfall_nano = ?, first_byte_ms = ?, total_ms = ?, attempts = ? WHERE row = ? AND state = 'open'`

// Deltas, not balances: the row in the file is the truth and its CHECK has the last word.
const MOVE_BUCKET = `UPDATE buckets SET posted_nano = posted_nano + ?, held_nano = held_nano + ? WHERE row = ?`

const ADD_TRANSFER = `INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

const ADD_ENTRY = `INSERT INTO entries (transfer, seq, bucket, delta_nano) VALUES (?, ?, ?, ?)`

const OPEN_PERIOD = `INSERT INTO buckets (row, unit, kind, account, subject, period_start, period_end)
  VALUES (?, ?, ?, ?, ?, ?, ?)`

const MOVE_PERIOD = `UPDATE buckets SET period_start = ?, period_end = ? WHERE row = ?`

const CLOSE_PERIOD = `UPDATE buckets SET closed_at = ? WHERE row = ?`

// The key of a request whose time is over may be taken again; one that is in use or kept has the last word.
const OPEN_CLAIM = `INSERT INTO claims (receipt, scope, fingerprint, state, at, expires_at) VALUES (?, ?, ?, 'running', ?, ?)
  ON CONFLICT (scope) DO UPDATE SET receipt = excluded.receipt, fingerprint = excluded.fingerprint,
    state = excluded.state, at = excluded.at, expires_at = excluded.expires_at
    WHERE claims.state <> 'running' AND claims.expires_at <= excluded.at`

const END_CLAIM = `UPDATE claims SET state = ? WHERE receipt = ? AND state = 'running'`

const DROP_CLAIM = `DELETE FROM claims WHERE receipt = ? AND state = 'running'`

const START_SUBSCRIPTION = `INSERT INTO subscriptions (row, account, plan, billing_day, started_at, ends_at)
  VALUES (?, ?, ?, ?, ?, ?)`

const END_SUBSCRIPTION = `UPDATE subscriptions SET ends_at = ? WHERE row = ?`

const REPLACE_MARK = `INSERT INTO marks (node, at, packed) VALUES (?, ?, ?)
  ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed`

/** The progress of every running stream of this node, replaced as a whole. */
export interface PackedMarks {
  readonly node: number
  readonly at: number
  readonly packed: Uint8Array
}

/** In the order in which a batch is recorded: a period is there before anything moves on it, and closed after that. */
const STEPS = {
  openPeriod: OPEN_PERIOD,
  movePeriod: MOVE_PERIOD,
  startSubscription: START_SUBSCRIPTION,
  endSubscription: END_SUBSCRIPTION,
  openReceipt: OPEN_RECEIPT,
  closeReceipt: CLOSE_RECEIPT,
  addTransfer: ADD_TRANSFER,
  addEntry: ADD_ENTRY,
  moveBucket: MOVE_BUCKET,
  closePeriod: CLOSE_PERIOD,
} as const

/** In the order in which they came: a key that is given back and taken again needs its row in between. */
const CLAIM_STEPS = { openClaim: OPEN_CLAIM, endClaim: END_CLAIM, dropClaim: DROP_CLAIM } as const

type Step = keyof typeof STEPS
const ORDER = Object.keys(STEPS) as Step[]

/** A batch of changes as the fewest row writes: one insert or update a receipt, one update a bucket however often it moved. */
export function recordChanges(changes: readonly Change[], marks: PackedMarks | undefined): AtomicStatement[] {
  const batch: Batch = { rows: new Map(), moves: new Map(), claims: [] }
  for (const change of changes) collect(batch, change)
  for (const [row, move] of batch.moves) {
    if (move.posted !== 0n || move.held !== 0n) add(batch, 'moveBucket', [move.posted, move.held, row])
  }
  const statements: AtomicStatement[] = ORDER.flatMap((step) => {
    const rows = batch.rows.get(step)
    return rows ? [{ sql: STEPS[step], rows, expectChanges: 1 }] : []
  })
  statements.push(...batch.claims)
  if (marks) statements.push({ sql: REPLACE_MARK, rows: [[marks.node, marks.at, marks.packed]] })
  return statements
}

interface Batch {
  readonly rows: Map<Step, SqlValue[][]>
  readonly moves: Map<number, { posted: bigint; held: bigint }>
  readonly claims: (AtomicStatement & { readonly rows: SqlValue[][] })[]
}

function add(batch: Batch, step: Step, row: SqlValue[]): void {
  const rows = batch.rows.get(step)
  if (rows) rows.push(row)
  else batch.rows.set(step, [row])
}

function addClaim({ claims }: Batch, step: keyof typeof CLAIM_STEPS, row: SqlValue[]): void {
  const sql = CLAIM_STEPS[step]
  const last = claims.at(-1)
  if (last?.sql === sql) last.rows.push(row)
  else claims.push({ sql, rows: [row], expectChanges: 1 })
}

function collect(batch: Batch, change: Change): void {
  switch (change.kind) {
    case 'receipt-opened':
      add(batch, 'openReceipt', openedRow(change))
      return
    case 'receipt-closed':
      add(batch, 'closeReceipt', closedRow(change))
      return
    case 'bucket-moved':
      addMove(batch, change)
      return
    case 'transferred':
      addTransfer(batch, change)
      return
    case 'period-opened':
      add(batch, 'openPeriod', periodRow(change))
      return
    case 'period-moved':
      add(batch, 'movePeriod', [change.start, change.end, change.bucket])
      return
    case 'period-closed':
      add(batch, 'closePeriod', [change.at, change.bucket])
      return
    case 'claim-opened':
      addClaim(batch, 'openClaim', [change.receipt, change.scope, change.fingerprint, change.at, change.expiresAt])
      return
    case 'claim-ended':
      if (change.state === 'dropped') addClaim(batch, 'dropClaim', [change.receipt])
      else addClaim(batch, 'endClaim', [change.state, change.receipt])
      return
    case 'subscription-started':
      add(batch, 'startSubscription', subscriptionRow(change))
      return
    case 'subscription-ended':
      add(batch, 'endSubscription', [change.endsAt ?? null, change.subscription])
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
  change.cachedEstimate,
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

const periodRow = ({ bucket, unit, account, subject, start, end }: PeriodOpened): SqlValue[] => [
  bucket,
  unit,
  unit === 'cap' ? 'cap' : 'window',
  account,
  subject,
  start,
  end,
]

const subscriptionRow = (change: SubscriptionStarted): SqlValue[] => [
  change.subscription,
  change.account,
  change.plan,
  change.billingDay,
  change.startedAt,
  change.endsAt ?? null,
]

function addMove({ moves }: Batch, change: BucketMoved): void {
  const move = moves.get(change.bucket)
  if (!move) {
    moves.set(change.bucket, { posted: change.posted, held: change.held })
    return
  }
  move.posted += change.posted
  move.held += change.held
}

/** Double entry: the two entries of a transfer sum to zero. */
function addTransfer(batch: Batch, change: Transferred): void {
  const { transfer, transferKind, unit, account, bucket, counter, amount, reason, ref, at } = change
  add(batch, 'addTransfer', [transfer, transferKind, unit, account, ref, reason, amount, at])
  add(batch, 'addEntry', [transfer, 0, bucket, amount])
  add(batch, 'addEntry', [transfer, 1, counter, -amount])
}
