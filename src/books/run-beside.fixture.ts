import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { Allowance } from '../model/allowance.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { admitTurn } from './admit-turn.ts'
import { endingOf } from './books.fixture.ts'
import { type Books, createAccountBooks, createBooks } from './books.ts'
import type { Change } from './changes.ts'
import { closeTurn } from './close-turn.ts'
import { expectSameBooks } from './expect-same-books.fixture.ts'
import {
  admitNaively,
  assignNaively,
  closeNaively,
  createFacts,
  endNaively,
  type NaiveFacts,
  type NaiveTurn,
  runningPlan,
  transferNaively,
} from './naive-model.fixture.ts'
import { createRows, type RecordedRows, recordNaively } from './recorded-rows.fixture.ts'
import { capsOf, limitsOf, PLANS, PRICES, type Step, type Wait } from './sequence-steps.fixture.ts'
import { PERIOD_ROWS_FROM } from './sides.ts'
import { assignPlan, endPlan } from './subscriptions.ts'
import { transferMoney } from './transfer-money.ts'
import { forgetEarnedBackRates } from './turn-limits.ts'

export interface Sequence {
  readonly startsAt: number
  readonly nearlyFull: boolean
  readonly steps: readonly Step[]
}

/** The books, the naive facts and the recorded rows of one sequence, side by side. */
export interface Beside {
  readonly books: Books
  readonly facts: NaiveFacts
  readonly rows: RecordedRows
  readonly count: (what: string) => void
  readonly onChanges: (changes: readonly Change[]) => void
  at: number
  ticks: number
}

type StepOf<Do extends Step['do']> = Extract<Step, { do: Do }>

const BUSY = [1, 2, 3]
const FULL = [4, 5, 6, 7, 8, 9, 10, 11, 12]
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const BILLION = 1_000_000_000n * 1_000_000_000n
/** As the database numbers them when these are its only accounts. */
const walletRow = (account: number) => (2 + account) as BucketRow

/** Runs a sequence on the books, on the naive model, and on what was recorded; the three must agree after each step. */
export function runBeside(
  { startsAt, nearlyFull, steps }: Sequence,
  count: (what: string) => void,
  onChanges: (changes: readonly Change[]) => void = () => {},
): Beside {
  const books = createBooks({ receipt: 1, transfer: 1, bucket: PERIOD_ROWS_FROM, subscription: 1 })
  const accounts = [...BUSY, ...(nearlyFull ? FULL : [])]
  for (const account of accounts as AccountRow[]) {
    books.accounts.set(account, createAccountBooks(account, { row: walletRow(account), posted: 0n, held: 0n }))
  }
  for (const key of [0, 1]) for (const name of [0, 1, 2]) books.claims.set(`key ${key}, ${name}`, undefined)
  const rows = createRows(accounts.map((account) => [account, walletRow(account)]))
  const beside: Beside = { books, facts: createFacts(), rows, count, onChanges, at: startsAt, ticks: 1_000_000 }

  if (nearlyFull) for (const account of FULL) transfer(beside, account, BILLION - (account === 12 ? 90_000n : 0n))
  for (const account of BUSY) transfer(beside, account, 20_000n)
  assign(beside, { do: 'assign', account: 0, plan: 'small', days: undefined })
  assign(beside, { do: 'assign', account: 1, plan: 'large', days: 20 })
  for (const step of steps) {
    beside.ticks += 200_000
    perform(beside, step)
    expectSameBooks(beside)
  }
  return beside
}

function perform(beside: Beside, step: Step): void {
  switch (step.do) {
    case 'admit':
      admit(beside, step)
      return
    case 'close':
      close(beside, step)
      return
    case 'transfer':
      transfer(beside, BUSY[step.account]!, step.amount)
      return
    case 'assign':
      assign(beside, step)
      return
    case 'end':
      end(beside, step)
      return
    case 'freeze':
      freeze(beside, step)
      return
    case 'forget-rates':
      forgetEarnedBackRates(beside.books, beside.ticks)
      return
    case 'wait':
      wait(beside, step)
      return
  }
}

function expectEqual(said: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(said, expected)) expect(said).toEqual(expected)
}

function admit(beside: Beside, step: StepOf<'admit'>): void {
  const { books, facts, at, ticks, count } = beside
  const account = BUSY[step.account]!
  const { clientCap, modelCap, chosenCap, kind } = step
  const request = {
    requestId: `req_${facts.turns.length}` as RequestId,
    kind,
    terms: PRICES[step.price],
    clientCap: clientCap === undefined ? undefined : Math.min(clientCap, modelCap),
    modelCap,
    chosenCap,
    limits: limitsOf(step.limits, step.key, account),
    allowances: allowancesOf(beside, step),
    claim: claimOf(step, at),
    at,
    ticks,
  }
  const expected = admitNaively(facts, { ...request, account })
  const outcome = admitTurn(books, {
    ...request,
    account: account as AccountRow,
    key: (step.key + 1) as KeyRow,
    model: 'demo',
    priceVersion: 1,
    choices: 1,
    inputEstimate: 10,
    cachedEstimate: 0,
  })
  const { changes = [], ...said } = { changes: undefined, ...outcome }
  expectEqual(said, expected)
  record(beside, changes)
  count(`${kind}: ${outcome.kind}${outcome.kind === 'in-flight' ? ` (${outcome.of?.unit ?? 'usd'})` : ''}`)
  if (outcome.kind === 'claimed') count(`claimed: ${outcome.claim.state}`)
  if (outcome.kind === 'limited') count(`limited: ${outcome.limit.kind}`)
  if (outcome.kind === 'held') countHeld(beside, step, outcome)
}

/** A wallet key is handed the windows of the plan too, which must not tempt it. */
function allowancesOf({ facts, at }: Beside, { account, key, caps }: StepOf<'admit'>): readonly Allowance[] {
  const plan = runningPlan(facts, BUSY[account]!, at)?.plan ?? 'small'
  return [...PLANS[plan]!, ...capsOf(key, caps)]
}

const claimOf = ({ claim, key, account }: StepOf<'admit'>, at: number) =>
  claim === undefined
    ? undefined
    : { scope: `key ${key}, ${claim}`, fingerprint: `body ${account}`, expiresAt: at + 2 * HOUR_MS }

function countHeld(
  { count, facts }: Beside,
  step: StepOf<'admit'>,
  { cap, hold }: { cap: number; hold: bigint },
): void {
  if (step.clientCap !== undefined) count("cap: the client's")
  else if (cap === step.modelCap) count("cap: the model's")
  else count(cap === step.chosenCap.tokensMin ? 'cap: chosen, the least' : 'cap: chosen, a share')
  if (hold === 0n) count('held for nothing')
  const { claim } = facts.turns.at(-1)!
  if (claim && facts.turns.filter((turn) => turn.claim?.scope === claim.scope).length > 1) count('claim: taken again')
}

function close(beside: Beside, step: StepOf<'close'>): void {
  const { books, facts, count, at, ticks } = beside
  const open = facts.turns.filter(({ state }) => state === 'open')
  const ended = facts.turns.find(({ state }) => state !== 'open')
  const turn: NaiveTurn | undefined = open[step.pick % (open.length + 1)] ?? ended
  const requestId = turn?.requestId ?? 'req_unknown'
  const cost = costOf(step, turn?.hold ?? 1000n)
  const usage = { uncachedInput: step.part, cachedInput: step.part, cacheWrite: 1, output: step.part, reasoning: 0 }
  const expected = closeNaively(facts, {
    requestId,
    cost,
    tokens: cost === undefined ? 0 : 3 * step.part + 1,
    kept: step.kept,
    compaction: step.compaction,
    ticks,
  })
  const owed =
    cost === undefined ? undefined : { usage: { ...usage, estimated: false }, tier: 0, cost: cost as NanoUsd }
  const outcome = closeTurn(books, {
    requestId: requestId as RequestId,
    ending: endingOf(undefined, { owed, compaction: step.compaction, kept: step.kept }),
    at,
    ticks,
  })
  const { changes = [], ...said } = { changes: undefined, ...outcome }
  expectEqual(said, expected)
  record(beside, changes)
  if (outcome.kind !== 'closed') {
    count('close: not-open')
    return
  }
  count(`close: ${step.ending}`)
  if (step.compaction) count('close: has compacted')
  if (outcome.shortfall > 0n) count('close: with a shortfall')
  const late = turn?.onPeriods.some((period) => period.end <= at)
  if (late) count('close: after its period has ended')
  if (changes.some(({ kind }) => kind === 'period-closed')) count('close: closes the period it outlived')
}

function costOf({ ending, part }: StepOf<'close'>, hold: bigint): bigint | undefined {
  switch (ending) {
    case 'free':
      return undefined
    case 'zero':
      return 0n
    case 'part':
      return (hold * BigInt(part)) / 1000n
    case 'whole':
      return hold
    case 'beyond':
      return hold + BigInt(part) + 1n
  }
}

function transfer(beside: Beside, account: number, amount: bigint): void {
  const { books, facts, count, at } = beside
  const kind = amount > 0n ? 'credit' : amount % 2n === 0n ? 'refund' : 'adjustment'
  const expected = transferNaively(facts, account, amount)
  const outcome = transferMoney(books, {
    account: account as AccountRow,
    kind,
    amount: amount as NanoUsd,
    reason: 'test',
    ref: `transfer ${books.next.transfer}`,
    at,
  })
  const { changes = [], ...said } = { changes: undefined, ...outcome }
  expectEqual(said, expected)
  record(beside, changes)
  count(`${kind}: ${outcome.kind}${outcome.kind === 'too-much' ? ` (${outcome.holder})` : ''}`)
}

function assign(beside: Beside, step: StepOf<'assign'>): void {
  const { books, facts, count, at } = beside
  const account = BUSY[step.account]!
  const endsAt = step.days === undefined ? undefined : at + step.days * DAY_MS
  const { plan } = step
  const before = runningPlan(facts, account, at)?.plan
  const op = { plan, windows: PLANS[plan]!, endsAt, at }
  const expected = assignNaively(facts, { ...op, account })
  const outcome = assignPlan(books, { ...op, account: account as AccountRow })
  expectEqual(outcome.kind, expected.kind)
  record(beside, outcome.kind === 'changed' ? outcome.changes : [])
  const how = before === undefined ? 'a first plan' : before === plan ? 'the same plan' : 'another plan'
  count(`assign ${how}: ${outcome.kind}`)
  if (outcome.kind === 'changed' && outcome.changes.some(({ kind }) => kind === 'transferred')) {
    count('assign: widens a running window')
  }
}

function end(beside: Beside, step: StepOf<'end'>): void {
  const { books, facts, count, at } = beside
  const account = BUSY[step.account]!
  const endsAt = at - (at % DAY_MS) + (step.days + 1) * DAY_MS
  const expected = endNaively(facts, account, endsAt, at)
  const outcome = endPlan(books, { account: account as AccountRow, endsAt, at })
  expectEqual(outcome.kind, expected.kind)
  record(beside, outcome.kind === 'changed' ? outcome.changes : [])
  count(`end: ${outcome.kind}`)
}

function freeze({ books, facts }: Beside, { account: index, frozen }: StepOf<'freeze'>): void {
  const account = BUSY[index]!
  books.accounts.get(account as AccountRow)!.frozen = frozen
  if (frozen) facts.frozen.add(account)
  else facts.frozen.delete(account)
}

function wait(beside: Beside, { until, some }: StepOf<'wait'>): void {
  const ms = waitMs(beside, until, some)
  const from = new Date(beside.at).toISOString()
  beside.at += ms
  // The monotonic clock goes on where the other one was set back.
  beside.ticks += until === 'clock-stands' ? some * 1_000_000 : ms * 1000
  const to = new Date(beside.at).toISOString()
  beside.count(`wait: ${until}`)
  if (from.slice(0, 7) !== to.slice(0, 7)) beside.count('wait: over the end of a month')
  if (from < '2028-02-29' && to >= '2028-03-01') beside.count('wait: over a leap day')
}

function waitMs({ facts, at }: Beside, until: Wait, some: number): number {
  const ends = facts.periods.map((period) => period.end).filter((end) => end > at)
  const next = ends[some % Math.max(1, ends.length)] ?? at + 1
  switch (until) {
    case 'clock-stands':
      return 0
    case 'ms':
      return some
    case 'minutes':
      return some * 60_000
    case 'hours':
      return (some * HOUR_MS) / 6
    case 'just-before-an-end':
      return next - 1 - at
    case 'an-end':
      return next - at
    case 'days':
      return (some * DAY_MS) / 10
    case 'a-month':
      return (20 + some / 2) * DAY_MS
  }
}

function record({ rows, count, onChanges }: Beside, changes: readonly Change[]): void {
  onChanges(changes)
  recordNaively(rows, changes)
  for (const change of changes) {
    if (change.kind === 'transferred' && change.unit !== 'usd') {
      count(`${change.unit} ${change.transferKind}${change.amount < 0n ? ' (less)' : ''}`)
    } else if (change.kind.startsWith('period-') || change.kind.startsWith('subscription-')) count(change.kind)
    else if (change.kind === 'claim-ended') count(`claim-ended: ${change.state}`)
  }
}
