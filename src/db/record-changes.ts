import type { Compilable } from 'kysely'
import type {
  BucketMoved,
  Change,
  CounterSet,
  PeriodOpened,
  ReceiptClosed,
  ReceiptOpened,
  SubscriptionStarted,
  Transferred,
} from '../ledger/state/state.ts'
import { assertNever } from '../lib/types.ts'
import { ZERO } from '../model/money.ts'
import { isOfTheData } from './sqlite/failure.ts'
import type { AtomicStatement, SqliteFile, SqlValue } from './sqlite/sqlite-file.ts'
import type { LedgerTables } from './tables.ts'

/** A statement that still needs its rows. Each row of them is one row of the table, and has to be there or come to be. */
export type RowStatement = Omit<AtomicStatement, 'rows'>

type ColumnOf<Table extends keyof LedgerTables> = keyof LedgerTables[Table] & string

/** Rows of parameters in the order of `columns`; `fixed` are SQL expressions, the same for all of them. */
export function insertInto<Table extends keyof LedgerTables>(
  table: Table,
  columns: readonly ColumnOf<Table>[],
  fixed: Partial<Record<ColumnOf<Table>, string>> = {},
): RowStatement {
  const each = `(${[...columns.map(() => '?'), ...Object.values<string | undefined>(fixed)].join(', ')})`
  const sql = `INSERT INTO ${table} (${[...columns, ...Object.keys(fixed)].join(', ')}) VALUES ${each}`
  return { sql, several: { sql, each }, expectChanges: 1 }
}

/**
 * Rows of parameters in the order of `set` and `add`, then the `row` they are about. A row that does not fulfil `where`
 * undoes the whole batch.
 */
function updateRows<Table extends keyof LedgerTables>(
  table: Table,
  change: {
    readonly set?: readonly ColumnOf<Table>[]
    readonly add?: readonly ColumnOf<Table>[]
    readonly where?: string
  },
): RowStatement {
  const { set = [], add = [] } = change
  const assign = (valueFor: (column: string) => string) =>
    [
      ...set.map((column) => `${column} = ${valueFor(column)}`),
      ...add.map((column) => `${column} = ${table}.${column} + ${valueFor(column)}`),
    ].join(', ')
  const columns = [...set, ...add, 'row']
  const where = change.where === undefined ? '' : ` AND ${change.where}`
  const each = `(${columns.map(() => '?').join(', ')})`
  // An index would be asked before the row, which its number finds at once.
  const several = `WITH batch (${columns.join(', ')}) AS (VALUES ${each})
    UPDATE ${table} NOT INDEXED SET ${assign((column) => `batch.${column}`)}
    FROM batch WHERE ${table}.row = batch.row${where}`
  return {
    sql: `UPDATE ${table} SET ${assign(() => '?')} WHERE row = ?${where}`,
    several: { sql: several, each },
    expectChanges: 1,
  }
}

/** A query as one statement of a list that is run in one step. With `expectChanges` it undoes the list where it changes fewer. */
export function statementOf(query: Compilable, expectChanges?: number): AtomicStatement {
  const { sql, parameters } = query.compile()
  const statement = { sql, rows: [parameters as SqlValue[]] }
  return expectChanges === undefined ? statement : { ...statement, expectChanges }
}

/**
 * Everything that a batch writes, in this order: a period is there before anything moves on it, and closed after that.
 * What comes once in a thousand requests is spelled out; what every request writes takes several rows in one run.
 */
export const BATCH_STATEMENTS = {
  openPeriod: insertInto('buckets', ['row', 'unit', 'kind', 'account', 'subject', 'period_start', 'period_end']),
  movePeriod: { sql: `UPDATE buckets SET period_start = ?, period_end = ? WHERE row = ?`, expectChanges: 1 },
  startSubscription: insertInto('subscriptions', [
    ...(['row', 'account', 'plan', 'billing_day', 'started_at', 'ends_at'] as const),
  ]),
  endSubscription: { sql: `UPDATE subscriptions SET ends_at = ? WHERE row = ?`, expectChanges: 1 },
  openReceipt: insertInto(
    'receipts',
    [
      ...(['row', 'request_id', 'account', 'key', 'kind', 'model', 'price_version', 'buckets', 'caps'] as const),
      ...(['hold_nano', 'output_cap', 'output_bound', 'input_estimate', 'cached_estimate', 'opened_at'] as const),
    ],
    { state: "'open'" },
  ),
  closeReceipt: updateRows('receipts', {
    set: [
      ...(['state', 'closed_at', 'outcome', 'lane'] as const),
      ...(['uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning', 'estimated'] as const),
      ...(['tier', 'cost_nano', 'charge_nano', 'shortfall_nano', 'first_byte_ms', 'total_ms', 'attempts'] as const),
      ...(['tokens_before', 'tokens_after', 'movement', 'balance_nano'] as const),
    ],
    // Compared in the same statement: a receipt that somebody else has closed undoes the whole batch.
    where: "receipts.state = 'open'",
  }),
  addTransfer: insertInto('transfers', [
    ...(['row', 'kind', 'unit', 'account', 'ref', 'reason', 'amount_nano', 'at', 'movement', 'balance_nano'] as const),
  ]),
  addEntry: insertInto('entries', ['transfer', 'seq', 'bucket', 'delta_nano']),
  // Whole, not by deltas: a period that follows another one begins in the same row, and one that is long over is deleted.
  setCounter: {
    sql: `INSERT INTO spend_counters (account, subject, period_start, period_end, first_receipt, carried_nano, bound_nano,
        spent_nano, held_nano) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (account, subject) DO UPDATE SET period_start = excluded.period_start, period_end = excluded.period_end,
        first_receipt = excluded.first_receipt, carried_nano = excluded.carried_nano, bound_nano = excluded.bound_nano, spent_nano = excluded.spent_nano, held_nano = excluded.held_nano`,
    expectChanges: 1,
  },
  // Deltas, not balances: the row in the file is the truth and its CHECK has the last word.
  moveBucket: updateRows('buckets', { add: ['posted_nano', 'held_nano'] }),
  closePeriod: { sql: `UPDATE buckets SET closed_at = ? WHERE row = ?`, expectChanges: 1 },
} satisfies Record<string, RowStatement>

/** In the order in which they came: a key that is given back and taken again needs its row in between. */
export const CLAIM_STATEMENTS = {
  // The key of a request whose time is over may be taken again; one that is in use or kept has the last word.
  openClaim: {
    sql: `INSERT INTO claims (receipt, scope, fingerprint, state, at, expires_at) VALUES (?, ?, ?, 'running', ?, ?)
      ON CONFLICT (scope) DO UPDATE SET receipt = excluded.receipt, fingerprint = excluded.fingerprint,
        state = excluded.state, at = excluded.at, expires_at = excluded.expires_at
        WHERE claims.state <> 'running' AND claims.expires_at <= excluded.at`,
    expectChanges: 1,
  },
  endClaim: { sql: `UPDATE claims SET state = ? WHERE receipt = ? AND state = 'running'`, expectChanges: 1 },
  dropClaim: { sql: `DELETE FROM claims WHERE receipt = ? AND state = 'running'`, expectChanges: 1 },
} satisfies Record<string, RowStatement>

export const REPLACE_MARK: RowStatement = {
  sql: `INSERT INTO marks (node, at, packed) VALUES (?, ?, ?)
    ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed`,
}

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

interface DecidedOperation {
  readonly account: number
  readonly changes: readonly Change[]
}

/** Marks stand in the same row for all accounts. */
const NO_ACCOUNT = 0

/**
 * Writes a batch in one commit, with the fewest row writes. Where the file refuses what is in it, the operations are written
 * one by one instead. Returns undefined when all was written; else an entry for each operation, and one for the marks: the error of
 * what was refused. Behind it no operation of the same account is tried: it gets the same error.
 */
export async function recordBatch(
  file: SqliteFile,
  operations: readonly DecidedOperation[],
  marks: PackedMarks | undefined,
): Promise<readonly (Error | undefined)[] | undefined> {
  try {
    const changes = operations.flatMap((operation) => operation.changes)
    await file.atomic(recordChanges(changes, marks))
    return undefined
  } catch (error) {
    if (!isOfTheData(error)) throw error
  }
  const groups = operations.map(({ account, changes }) => ({
    about: account,
    statements: recordChanges(changes, undefined),
  }))
  if (marks) groups.push({ about: NO_ACCOUNT, statements: recordChanges([], marks) })
  const failures = await file.atomicEach(groups)
  return failures.some((failure) => failure !== undefined) ? failures : undefined
}
