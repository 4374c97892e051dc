import type {
  BucketMoved,
  Change,
  CounterSet,
  PeriodOpened,
  ReceiptClosed,
  ReceiptOpened,
  SubscriptionStarted,
  Transferred,
} from '../books/changes.ts'
import { assertNever } from '../lib/assert-never.ts'
import { ZERO } from '../model/money.ts'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'
import { BATCH_STATEMENTS, CLAIM_STATEMENTS, REPLACE_MARK } from './batch-statements.ts'

/** The progress of every running stream of this node, replaced as a whole. */
export interface PackedMarks {
  readonly node: number
  readonly at: number
  readonly packed: Uint8Array
}

type Step = keyof typeof BATCH_STATEMENTS
const STEPS = Object.keys(BATCH_STATEMENTS) as Step[]

interface Batch {
  readonly rows: Map<Step, SqlValue[][]>
  readonly moves: Map<number, { posted: bigint; held: bigint }>
  /** As each stands in the end, by account and subject. */
  readonly counters: Map<string, CounterSet>
  readonly claims: (AtomicStatement & { readonly rows: SqlValue[][] })[]
}

/** A batch of changes as the fewest row writes: one insert or update a receipt, one update a bucket however often it moved. */
export function recordChanges(changes: readonly Change[], marks: PackedMarks | undefined): AtomicStatement[] {
  const batch: Batch = { rows: new Map(), moves: new Map(), counters: new Map(), claims: [] }
  for (const change of changes) collect(batch, change)
  for (const [bucket, { posted, held }] of batch.moves) {
    if (posted !== 0n || held !== 0n) add(batch, 'moveBucket', [posted, held, bucket])
  }
  for (const counter of batch.counters.values()) add(batch, 'setCounter', counterRow(counter))
  const statements: AtomicStatement[] = []
  for (const step of STEPS) {
    const rows = batch.rows.get(step)
    if (rows) statements.push({ ...BATCH_STATEMENTS[step], rows })
  }
  statements.push(...batch.claims)
  if (marks) statements.push({ ...REPLACE_MARK, rows: [[marks.node, marks.at, marks.packed]] })
  return statements
}

function add(batch: Batch, step: Step, row: SqlValue[]): void {
  const rows = batch.rows.get(step)
  if (rows) rows.push(row)
  else batch.rows.set(step, [row])
}

function addClaim({ claims }: Batch, step: keyof typeof CLAIM_STATEMENTS, row: SqlValue[]): void {
  const statement = CLAIM_STATEMENTS[step]
  const last = claims.at(-1)
  if (last?.sql === statement.sql) last.rows.push(row)
  else claims.push({ ...statement, rows: [row] })
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
    case 'counter-set':
      batch.counters.set(`${change.account} ${change.subject}`, change)
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
  change.caps.length > 0 ? change.caps.join(' ') : null,
  change.hold,
  change.cap,
  change.outputBound,
  change.inputEstimate,
  change.cachedEstimate,
  change.at,
]

const closedRow = ({ ending, ...change }: ReceiptClosed): SqlValue[] => {
  const { owed, compaction } = ending
  return [
    owed ? 'settled' : 'released',
    change.at,
    ending.outcome,
    ending.lane ?? null,
    owed?.usage.uncachedInput ?? null,
    owed?.usage.cachedInput ?? null,
    owed?.usage.cacheWrite ?? null,
    owed?.usage.output ?? null,
    owed?.usage.reasoning ?? null,
    owed ? Number(owed.usage.estimated) : null,
    owed?.tier ?? null,
    owed?.cost ?? ZERO,
    change.charge,
    change.shortfall,
    ending.firstByteMs ?? null,
    ending.totalMs,
    JSON.stringify(ending.attempts),
    compaction?.tokensBefore ?? null,
    compaction?.tokensAfter ?? null,
    change.movement,
    change.balance ?? null,
    change.receipt,
  ]
}

const counterRow = (change: CounterSet): SqlValue[] => [
  ...[change.account, change.subject, change.start, change.end, change.firstReceipt],
  ...[change.carried, change.bound, change.spent, change.held],
]

const periodRow = ({ bucket, account, subject, start, end }: PeriodOpened): SqlValue[] => [
  bucket,
  'quota',
  'window',
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

function addMove({ moves }: Batch, { bucket, posted, held }: BucketMoved): void {
  const move = moves.get(bucket)
  if (!move) {
    moves.set(bucket, { posted, held })
    return
  }
  move.posted += posted
  move.held += held
}

/** Double entry: the two entries of a transfer sum to zero. */
function addTransfer(batch: Batch, change: Transferred): void {
  const { transfer, transferKind, unit, account, bucket, counter, amount, reason, ref, at, movement, balance } = change
  add(batch, 'addTransfer', [
    ...[transfer, transferKind, unit, account, ref, reason, amount, at],
    ...[movement, balance ?? null],
  ])
  add(batch, 'addEntry', [transfer, 0, bucket, amount])
  add(batch, 'addEntry', [transfer, 1, counter, -amount])
}
