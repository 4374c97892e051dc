import type { Change, CounterSet, ReceiptOpened, Transferred } from './state.ts'

/**
 * What a database makes of the recorded changes, and what it would refuse: rows that are only ever added to, double
 * entry in each unit, closed periods that never move, periods of one kind that never overlap.
 */
export interface RecordedRows {
  /** What keys have spent under their caps, by account and subject. */
  readonly counters: Map<string, CounterSet>
  readonly buckets: Map<number, RecordedBucket>
  readonly receipts: Map<number, ReceiptOpened & { charge: bigint | undefined }>
  readonly claims: Map<string, { receipt: number; state: 'running' | 'kept' | 'not-kept'; expiresAt: number }>
  readonly plans: Map<number, { account: number; plan: string; billingDay: number; endsAt: number | undefined }>
  readonly refs: Set<string>
  /** What closed or moved on each account, in the order of its numbers. */
  readonly movements: Map<number, RecordedMovement[]>
}

export interface RecordedMovement {
  readonly what: 'charge' | 'transfer' | 'allowance'
  /** Signed, and of the wallet alone: nothing where a plan pays. */
  readonly amount: bigint
  /** What the change said of the wallet behind it. */
  readonly balance: bigint | undefined
}

export interface RecordedBucket {
  readonly row: number
  readonly unit: 'usd' | 'quota'
  /** Undefined: the other side of entries. */
  readonly account: number | undefined
  readonly subject: string
  start: number
  end: number
  posted: bigint
  held: bigint
  granted: bigint
  expired: bigint
  closed: boolean
}

/** Written down here once more: which rows are the other side of what. */
const OTHER_SIDES = {
  usd: { issued: 1, used: 2, expired: undefined },
  quota: { issued: -11, used: -12, expired: -13 },
}

const NO_AMOUNTS = { start: 0, end: 0, posted: 0n, held: 0n, granted: 0n, expired: 0n, closed: false }

export function createRows(wallets: Iterable<readonly [account: number, row: number]>): RecordedRows {
  const buckets = new Map<number, RecordedBucket>()
  const add = (row: number, rest: Pick<RecordedBucket, 'unit' | 'account' | 'subject'>) =>
    buckets.set(row, { row, ...NO_AMOUNTS, ...rest })
  for (const unit of ['usd', 'quota'] as const) {
    for (const [subject, row] of Object.entries(OTHER_SIDES[unit])) {
      if (row !== undefined) add(row, { unit, account: undefined, subject })
    }
  }
  for (const [account, row] of wallets) add(row, { unit: 'usd', account, subject: 'wallet' })
  const noneYet = {
    receipts: new Map(),
    claims: new Map(),
    plans: new Map(),
    refs: new Set<string>(),
    movements: new Map(),
  }
  return { buckets, counters: new Map(), ...noneYet }
}

function demand(condition: boolean, says: string): asserts condition {
  if (!condition) throw new Error(says)
}

/** What one operation moves, by its entries and charges, and by its changes of balances: the same for each row. */
type Moves = Map<number, { byEntries: bigint; byBalances: bigint; held: bigint; heldByTurns: bigint }>

export function recordNaively(rows: RecordedRows, changes: readonly Change[]): void {
  const moves: Moves = new Map()
  // As the database does: a period is there before anything moves on it, and closed after that.
  const late = changes.filter(({ kind }) => kind === 'period-closed')
  for (const change of changes) if (change.kind !== 'period-closed') record(rows, moves, change)
  for (const [row, move] of moves) {
    const bucket = bucketOf(rows, row)
    // Of the other sides only the outside world keeps a balance; those of the others are what their entries say.
    if (bucket.account === undefined && row !== OTHER_SIDES.usd.issued) {
      demand(move.byBalances === 0n, `the balance of row ${row} moved, which keeps none`)
      move.byBalances = move.byEntries
    }
    demand(move.byEntries === move.byBalances, `row ${row} moved ${move.byBalances}, its entries say ${move.byEntries}`)
    demand(move.held === move.heldByTurns, `row ${row} holds ${move.held} more, its turns ${move.heldByTurns}`)
    demand(!bucket.closed, `closed period ${row} moved`)
    bucket.posted += move.byBalances
    bucket.held += move.held
    demand(bucket.held >= 0n, `row ${row} holds ${bucket.held}`)
    demand(bucket.account === undefined || bucket.posted >= bucket.held, `row ${row} is overdrawn`)
  }
  for (const change of late) record(rows, moves, change)
  expectBalanced(rows)
  if (changes.some(({ kind }) => kind === 'period-opened' || kind === 'period-moved')) expectApart(rows)
  for (const change of changes) if (change.kind === 'receipt-opened') expectWithin(rows, change)
}

function record(rows: RecordedRows, moves: Moves, change: Change): void {
  switch (change.kind) {
    case 'receipt-opened':
      demand(!rows.receipts.has(change.receipt), `receipt ${change.receipt} was opened twice`)
      rows.receipts.set(change.receipt, { ...change, charge: undefined })
      for (const row of change.buckets) moveOf(moves, row).heldByTurns += change.hold
      return
    case 'receipt-closed': {
      const receipt = rows.receipts.get(change.receipt)
      demand(receipt !== undefined && receipt.charge === undefined, `receipt ${change.receipt} was not open`)
      receipt.charge = change.charge
      const amount = receipt.keyKind === 'wallet' ? -change.charge : 0n
      number(rows, receipt.account, change.movement, { what: 'charge', amount, balance: change.balance })
      for (const row of receipt.buckets) {
        moveOf(moves, row).heldByTurns -= receipt.hold
        moveOf(moves, row).byEntries -= change.charge
        moveOf(moves, OTHER_SIDES[bucketOf(rows, row).unit].used).byEntries += change.charge
      }
      return
    }
    case 'bucket-moved':
      moveOf(moves, change.bucket).byBalances += change.posted
      moveOf(moves, change.bucket).held += change.held
      return
    case 'transferred':
      transfer(rows, moves, change)
      return
    case 'period-opened': {
      const { bucket: row, account, subject, start, end } = change
      demand(!rows.buckets.has(row), `period ${row} was opened twice`)
      rows.buckets.set(row, { row, ...NO_AMOUNTS, unit: 'quota', account, subject, start, end })
      return
    }
    case 'period-moved': {
      const bucket = bucketOf(rows, change.bucket)
      demand(
        !bucket.closed && bucket.held === 0n && bucket.posted === bucket.granted,
        `used period ${bucket.row} moved`,
      )
      Object.assign(bucket, { start: change.start, end: change.end })
      return
    }
    default:
      recordOther(rows, change)
  }
}

function recordOther(rows: RecordedRows, change: Change): void {
  if (change.kind === 'period-closed') {
    const bucket = bucketOf(rows, change.bucket)
    demand(!bucket.closed && bucket.posted === 0n && bucket.held === 0n, `period ${bucket.row} was closed with a rest`)
    demand(bucket.end <= change.at, `period ${bucket.row} was closed before its end`)
    bucket.closed = true
  } else if (change.kind === 'counter-set') {
    const { account, subject, start, bound, spent, held } = change
    const before = rows.counters.get(`${account} ${subject}`)
    demand(spent >= 0n && held >= 0n && spent + held <= bound, `${subject} has ${spent} and ${held} of ${bound}`)
    demand(!before || before.start <= start, `${subject} went back to an earlier period`)
    rows.counters.set(`${account} ${subject}`, change)
  } else if (change.kind === 'claim-opened') {
    const { receipt, scope, at, expiresAt } = change
    const before = rows.claims.get(scope)
    demand(!before || (before.state !== 'running' && before.expiresAt <= at), `${scope} was taken twice`)
    rows.claims.set(scope, { receipt, state: 'running', expiresAt })
  } else if (change.kind === 'claim-ended') {
    const [scope, claim] = [...rows.claims].find(([, { receipt }]) => receipt === change.receipt) ?? []
    demand(scope !== undefined && claim?.state === 'running', `claim of ${change.receipt} was not running`)
    if (change.state === 'dropped') rows.claims.delete(scope)
    else claim.state = change.state
  } else if (change.kind === 'subscription-started') {
    const { subscription, account, plan, billingDay, endsAt } = change
    rows.plans.set(subscription, { account, plan, billingDay, endsAt })
  } else if (change.kind === 'subscription-ended') {
    const plan = rows.plans.get(change.subscription)
    demand(plan !== undefined, `subscription ${change.subscription} was never started`)
    plan.endsAt = change.endsAt
  }
}

function transfer(rows: RecordedRows, moves: Moves, change: Transferred): void {
  const { buckets, refs } = rows
  const { transferKind, unit, account, amount } = change
  const bucket = buckets.get(change.bucket)
  demand(bucket?.unit === unit && bucket.account === account, `a transfer of ${unit} went into another unit or account`)
  const counter = OTHER_SIDES[unit][transferKind === 'expiry' ? 'expired' : 'issued']
  demand(change.counter === counter, `a ${transferKind} of ${unit} has its other side in ${change.counter}`)
  demand((unit === 'usd') === ['credit', 'refund', 'adjustment'].includes(transferKind), `${transferKind} of ${unit}`)
  const ref = `${account} ${transferKind} ${change.ref}`
  demand(!refs.has(ref), `a second transfer with ref ${ref}`)
  refs.add(ref)
  const what = unit === 'usd' ? 'transfer' : 'allowance'
  number(rows, account, change.movement, { what, amount: unit === 'usd' ? amount : 0n, balance: change.balance })
  if (transferKind === 'grant') bucket.granted += amount
  if (transferKind === 'expiry') bucket.expired -= amount
  moveOf(moves, bucket.row).byEntries += amount
  moveOf(moves, counter).byEntries -= amount
}

/** Numbered without a gap, and each balance is the last one with what moved. */
function number(rows: RecordedRows, account: number, movement: number, moved: RecordedMovement): void {
  const before = rows.movements.get(account) ?? []
  rows.movements.set(account, before)
  before.push(moved)
  demand(movement === before.length, `movement ${before.length} of account ${account} is numbered ${movement}`)
  if (moved.balance === undefined) {
    demand(moved.amount === 0n, `movement ${movement} of account ${account} moved the wallet, and has no balance`)
    return
  }
  const last = before.findLast((each, place) => place < before.length - 1 && each.balance !== undefined)?.balance ?? 0n
  demand(moved.balance === last + moved.amount, `balance ${moved.balance} follows ${last} and ${moved.amount}`)
}

function moveOf(moves: Moves, row: number) {
  const move = moves.get(row) ?? { byEntries: 0n, byBalances: 0n, held: 0n, heldByTurns: 0n }
  moves.set(row, move)
  return move
}

export function bucketOf({ buckets }: RecordedRows, row: number): RecordedBucket {
  const bucket = buckets.get(row)
  demand(bucket !== undefined, `there is no row ${row}`)
  return bucket
}

/** Everything that was ever recorded sums to zero, in each unit for itself. */
function expectBalanced({ buckets }: RecordedRows): void {
  const sums = { usd: 0n, quota: 0n }
  for (const { unit, posted } of buckets.values()) sums[unit] += posted
  for (const [unit, sum] of Object.entries(sums)) demand(sum === 0n, `all ${unit} sum to ${sum}`)
}

function expectApart({ buckets }: RecordedRows): void {
  const latest = new Map<string, RecordedBucket>()
  for (const bucket of buckets.values()) {
    if (bucket.unit === 'usd' || bucket.account === undefined) continue
    const name = `${bucket.account} ${bucket.subject}`
    const before = latest.get(name)
    demand(bucket.start < bucket.end, `period ${bucket.row} ends before it starts`)
    demand(!before || before.end <= bucket.start, `period ${bucket.row} overlaps ${before?.row}`)
    latest.set(name, bucket)
  }
}

/** A turn stands on what its key's kind allows, on each once, and in periods that run at that moment. */
function expectWithin(rows: RecordedRows, { buckets, account, keyKind, hold, at }: ReceiptOpened): void {
  const stood = buckets.map((row) => bucketOf(rows, row))
  demand(new Set(buckets).size === buckets.length, 'a turn holds twice on one row')
  demand(
    stood.every((bucket) => bucket.account === account && !bucket.closed),
    'a turn holds on a foreign or closed row',
  )
  const [wallets, windows] = ['usd', 'quota'].map((unit) => stood.filter((bucket) => bucket.unit === unit).length)
  demand(wallets === (keyKind === 'wallet' ? 1 : 0), `a ${keyKind} key holds on ${wallets} wallets`)
  demand(keyKind === 'wallet' ? windows === 0 : windows! > 0 || hold === 0n, `a ${keyKind} key on ${windows} windows`)
  for (const { unit, start, end } of stood)
    demand(unit === 'usd' || (start <= at && at < end), 'a hold out of its time')
}
