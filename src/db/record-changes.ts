import type { Compilable } from 'kysely'
import type { Change, CounterSet, ReceiptClosed, ReceiptOpened, Transferred } from '../ledger/state/state.ts'
import { assertNever } from '../lib/types.ts'
import { ZERO } from '../model/money.ts'
import { type AtomicStatement, isOfTheData, type SqlValue } from './sql-store.ts'
import type { SqliteFile } from './sqlite/worker-messages.ts'
import type { LedgerTables } from './tables.ts'

/** A statement without its rows of parameters, each of which changes one row of the table. */
export type RowStatement = Omit<AtomicStatement, 'rows'>

type ColumnOf<Table extends keyof LedgerTables> = keyof LedgerTables[Table] & string

/** Rows of parameters in the order of `columns`; `fixed` are SQL expressions, the same for all rows. */
export function insertInto<Table extends keyof LedgerTables>(
  table: Table,
  columns: readonly ColumnOf<Table>[],
  fixed: Partial<Record<ColumnOf<Table>, string>> = {},
): RowStatement {
  const each = `(${[...columns.map(() => '?'), ...Object.values<string | undefined>(fixed)].join(', ')})`
  const sql = `INSERT INTO ${table} (${[...columns, ...Object.keys(fixed)].join(', ')}) VALUES ${each}`
  return { sql, several: { sql, each }, expectChanges: 1 }
}

/** Rows of parameters in the order of `set` and `add`, then `row`. A row that does not match `where` undoes the batch. */
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
  // NOT INDEXED makes SQLite look the row up by its number, not by an index on `where`.
  const several = `WITH batch (${columns.join(', ')}) AS (VALUES ${each})
    UPDATE ${table} NOT INDEXED SET ${assign((column) => `batch.${column}`)}
    FROM batch WHERE ${table}.row = batch.row${where}`
  return {
    sql: `UPDATE ${table} SET ${assign(() => '?')} WHERE row = ?${where}`,
    several: { sql: several, each },
    expectChanges: 1,
  }
}

/** A query as a statement of an atomic list. */
export function statementOf(query: Compilable, expectChanges?: number): AtomicStatement {
  const { sql, parameters } = query.compile()
  const statement = { sql, rows: [parameters as SqlValue[]] }
  return expectChanges === undefined ? statement : { ...statement, expectChanges }
}

const OPENED_COLUMNS = [
  ...(['row', 'request_id', 'account', 'key', 'kind', 'model', 'price_version', 'buckets', 'caps'] as const),
  ...([
    'hold_nano',
    'output_cap',
    'output_bound',
    'input_estimate',
    'cached_estimate',
    'tags',
    'asked',
    'opened_at',
  ] as const),
]
const CLOSED_COLUMNS = [
  ...(['state', 'closed_at', 'outcome', 'lane'] as const),
  ...(['uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning', 'estimated'] as const),
  ...(['tier', 'cost_nano', 'charge_nano', 'shortfall_nano', 'first_byte_ms', 'total_ms', 'attempts'] as const),
  ...(['tokens_before', 'tokens_after', 'movement', 'balance_nano'] as const),
]

/**
 * What a batch writes, in this order: a period exists before anything moves on it, and closes after that. Frequent
 * statements take several rows in one run.
 */
export const BATCH_STATEMENTS = {
  openPeriod: insertInto('buckets', ['row', 'unit', 'kind', 'account', 'subject', 'period_start', 'period_end']),
  movePeriod: { sql: `UPDATE buckets SET period_start = ?, period_end = ? WHERE row = ?`, expectChanges: 1 },
  startSubscription: insertInto('subscriptions', [
    ...(['row', 'account', 'plan', 'billing_day', 'started_at', 'ends_at'] as const),
  ]),
  endSubscription: { sql: `UPDATE subscriptions SET ends_at = ? WHERE row = ?`, expectChanges: 1 },
  openReceipt: insertInto('receipts', OPENED_COLUMNS, { state: "'open'" }),
  /** A request that ended before its hold was written: one row write instead of two. */
  addClosedReceipt: insertInto('receipts', [...OPENED_COLUMNS, ...CLOSED_COLUMNS]),
  closeReceipt: updateRows('receipts', {
    set: CLOSED_COLUMNS,
    // A receipt that was closed before undoes the whole batch.
    where: "receipts.state = 'open'",
  }),
  addTransfer: insertInto('transfers', [
    ...(['row', 'kind', 'unit', 'account', 'ref', 'reason', 'amount_nano', 'at', 'movement', 'balance_nano'] as const),
  ]),
  addEntry: insertInto('entries', ['transfer', 'seq', 'bucket', 'delta_nano']),
  // Whole rows, not deltas: the next period begins in the same row, and rows of old periods are deleted.
  setCounter: {
    sql: `INSERT INTO spend_counters (account, subject, period_start, period_end, first_receipt, carried_nano, bound_nano,
        spent_nano, held_nano) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (account, subject) DO UPDATE SET period_start = excluded.period_start, period_end = excluded.period_end,
        first_receipt = excluded.first_receipt, carried_nano = excluded.carried_nano, bound_nano = excluded.bound_nano, spent_nano = excluded.spent_nano, held_nano = excluded.held_nano`,
    expectChanges: 1,
  },
  // Deltas, not balances: the row in the file decides, with its CHECK.
  moveBucket: updateRows('buckets', { add: ['posted_nano', 'held_nano'] }),
  closePeriod: { sql: `UPDATE buckets SET closed_at = ? WHERE row = ?`, expectChanges: 1 },
} satisfies Record<string, RowStatement>

/** In the order of the changes: a key that is freed and taken again needs its row deleted in between. */
export const CLAIM_STATEMENTS = {
  // An expired claim may be taken over; one that is running or kept refuses.
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

export interface PackedMarks {
  readonly node: number
  readonly at: number
  readonly packed: Uint8Array
}

type Step = keyof typeof BATCH_STATEMENTS
const STEPS = Object.keys(BATCH_STATEMENTS) as Step[]

type StepRows = Partial<Record<Step, SqlValue[][]>>

interface Batch {
  readonly rows: StepRows
  /** The rows of the requests that this batch opens, by receipt. */
  opened: Map<number, SqlValue[]> | undefined
  readonly moves: Map<number, { posted: bigint; held: bigint }>
  /** The last value of each, by account and subject. */
  counters: Map<string, CounterSet> | undefined
  readonly claims: (AtomicStatement & { readonly rows: SqlValue[][] })[]
}

/** The changes of one operation of the ledger. */
interface Recorded {
  readonly changes: readonly Change[]
}

/**
 * A batch as few row writes: one insert or update per receipt, even if it is opened and closed here, and one update per bucket,
 * however often it moved.
 */
export function recordChanges(operations: readonly Recorded[], marks: PackedMarks | undefined): AtomicStatement[] {
  const rows: StepRows = {}
  const batch: Batch = { rows, opened: undefined, moves: new Map(), counters: undefined, claims: [] }
  for (const { changes } of operations) for (const change of changes) collect(batch, change)
  for (const [bucket, { posted, held }] of batch.moves) {
    if (posted !== 0n || held !== 0n) add(rows, 'moveBucket', [posted, held, bucket])
  }
  for (const opened of batch.opened?.values() ?? NONE) add(rows, 'openReceipt', opened)
  for (const counter of batch.counters?.values() ?? NONE) add(rows, 'setCounter', counterRow(counter))
  const statements: AtomicStatement[] = []
  for (const step of STEPS) {
    const given = rows[step]
    if (given !== undefined) statements.push({ ...BATCH_STATEMENTS[step], rows: given })
  }
  statements.push(...batch.claims)
  if (marks) statements.push({ ...REPLACE_MARK, rows: [[marks.node, marks.at, marks.packed]] })
  return statements
}

const NONE: readonly never[] = []

function add(rows: StepRows, step: Step, row: SqlValue[]): void {
  rows[step] ??= []
  rows[step].push(row)
}

function addClaim({ claims }: Batch, step: keyof typeof CLAIM_STATEMENTS, row: SqlValue[]): void {
  const statement = CLAIM_STATEMENTS[step]
  const last = claims.at(-1)
  if (last?.sql === statement.sql) last.rows.push(row)
  else claims.push({ ...statement, rows: [row] })
}

function collect(batch: Batch, change: Change): void {
  const { rows } = batch
  switch (change.kind) {
    case 'receipt-opened':
      batch.opened ??= new Map()
      batch.opened.set(change.receipt, openedRow(change))
      return
    case 'receipt-closed':
      {
        const opened = batch.opened?.get(change.receipt)
        const closed = closedRow(change)
        if (opened === undefined) {
          closed.push(change.receipt)
          add(rows, 'closeReceipt', closed)
        } else {
          batch.opened?.delete(change.receipt)
          opened.push(...closed)
          add(rows, 'addClosedReceipt', opened)
        }
      }
      return
    case 'bucket-moved':
      {
        const move = batch.moves.get(change.bucket) ?? { posted: 0n, held: 0n }
        move.posted += change.posted
        move.held += change.held
        batch.moves.set(change.bucket, move)
      }
      return
    case 'transferred':
      addTransfer(batch, change)
      return
    case 'period-opened':
      add(rows, 'openPeriod', [
        ...[change.bucket, 'quota', 'window', change.account],
        ...[change.subject, change.start, change.end],
      ])
      return
    case 'period-moved':
      add(rows, 'movePeriod', [change.start, change.end, change.bucket])
      return
    case 'period-closed':
      add(rows, 'closePeriod', [change.at, change.bucket])
      return
    case 'counter-set':
      batch.counters ??= new Map()
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
      add(rows, 'startSubscription', [
        ...[change.subscription, change.account, change.plan],
        ...[change.billingDay, change.startedAt, change.endsAt ?? null],
      ])
      return
    case 'subscription-ended':
      add(rows, 'endSubscription', [change.endsAt ?? null, change.subscription])
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
  change.heldAmount,
  change.cap,
  change.outputBound,
  change.inputEstimate,
  change.cachedEstimate,
  change.tags ?? null,
  change.asked ?? null,
  change.at,
]

function closedRow(change: ReceiptClosed): SqlValue[] {
  const { ending } = change
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
  ]
}

const counterRow = (change: CounterSet): SqlValue[] => [
  ...[change.account, change.subject, change.start, change.end, change.firstReceipt],
  ...[change.carried, change.bound, change.spent, change.held],
]

/** The two entries of a transfer sum to zero. */
function addTransfer({ rows }: Batch, change: Transferred): void {
  const { transfer, transferKind, unit, account, bucket, contra, amount, reason, ref, at, movement, balance } = change
  add(rows, 'addTransfer', [
    ...[transfer, transferKind, unit, account, ref, reason, amount, at],
    ...[movement, balance ?? null],
  ])
  add(rows, 'addEntry', [transfer, 0, bucket, amount])
  add(rows, 'addEntry', [transfer, 1, contra, -amount])
}

/** Marks are one row for all accounts. */
const NO_ACCOUNT = 0

/**
 * Writes a batch in one commit. If the file refuses its data, the operations are written one by one instead. Returns
 * undefined when everything was written; else the error or undefined for each operation, and for the marks. Later operations
 * of an account with a refused one are not tried, and get the same error.
 */
export async function recordBatch(
  file: SqliteFile,
  operations: readonly (Recorded & { readonly account: number })[],
  marks: PackedMarks | undefined,
): Promise<readonly (Error | undefined)[] | undefined> {
  try {
    await file.atomic(recordChanges(operations, marks))
    return undefined
  } catch (error) {
    if (!isOfTheData(error)) throw error
  }
  const groups = operations.map((operation) => ({
    about: operation.account,
    statements: recordChanges([operation], undefined),
  }))
  if (marks) groups.push({ about: NO_ACCOUNT, statements: recordChanges([], marks) })
  const failures = await file.atomicEach(groups)
  return failures.some((failure) => failure !== undefined) ? failures : undefined
}
