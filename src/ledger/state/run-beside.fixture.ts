import type { AccountRow, BucketRow } from '../../model/ids.ts'
import { type Beside, BUSY, type StepOf } from './beside.fixture.ts'
import { DAY_MS, HOUR_MS } from './books.fixture.ts'
import { expectSameState } from './expect-same-books.fixture.ts'
import { assign, end, transfer } from './money-beside.fixture.ts'
import { createFacts } from './naive-facts.fixture.ts'
import { createRows } from './recorded-rows.fixture.ts'
import type { Step, Wait } from './sequence-steps.fixture.ts'
import { type Change, createAccountState, createLedgerState, PERIOD_ROWS_FROM } from './state.ts'
import { forgetEarnedBackRates } from './turn-limits.ts'
import { admit, close } from './turns-beside.fixture.ts'

export interface Sequence {
  readonly startsAt: number
  readonly nearlyFull: boolean
  readonly steps: readonly Step[]
}

const FULL = [4, 5, 6, 7, 8, 9, 10, 11, 12]
const BILLION = 1_000_000_000n * 1_000_000_000n
/** As the database numbers them when these are its only accounts. */
const walletRow = (account: number) => (2 + account) as BucketRow

/** Runs a sequence on the books, on the naive model, and on what was recorded; the three must agree after each step. */
export function runBeside(
  { startsAt, nearlyFull, steps }: Sequence,
  count: (what: string) => void,
  onChanges: (changes: readonly Change[]) => void = () => {},
): Beside {
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: PERIOD_ROWS_FROM, subscription: 1 })
  const accounts = [...BUSY, ...(nearlyFull ? FULL : [])]
  for (const account of accounts as AccountRow[]) {
    ledgerState.accounts.set(account, createAccountState(account, { row: walletRow(account), posted: 0n, held: 0n }))
  }
  for (const key of [0, 1]) for (const name of [0, 1, 2]) ledgerState.claims.set(`key ${key}, ${name}`, undefined)
  const rows = createRows(accounts.map((account) => [account, walletRow(account)]))
  const beside: Beside = {
    ledgerState,
    facts: createFacts(),
    rows,
    count,
    onChanges,
    at: startsAt,
    nowMicros: 1_000_000,
  }

  if (nearlyFull) for (const account of FULL) transfer(beside, account, BILLION - (account === 12 ? 90_000n : 0n))
  for (const account of BUSY) transfer(beside, account, 20_000n)
  assign(beside, { do: 'assign', account: 0, plan: 'small', days: undefined })
  assign(beside, { do: 'assign', account: 1, plan: 'large', days: 20 })
  for (const step of steps) {
    beside.nowMicros += 200_000
    perform(beside, step)
    expectSameState(beside)
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
      forgetEarnedBackRates(beside.ledgerState, beside.nowMicros)
      return
    case 'wait':
      wait(beside, step)
      return
  }
}

function freeze({ ledgerState, facts }: Beside, { account: index, frozen }: StepOf<'freeze'>): void {
  const account = BUSY[index]!
  ledgerState.accounts.get(account as AccountRow)!.frozen = frozen
  if (frozen) facts.frozen.add(account)
  else facts.frozen.delete(account)
}

function wait(beside: Beside, { until, some }: StepOf<'wait'>): void {
  const ms = waitMs(beside, until, some)
  const from = new Date(beside.at).toISOString()
  beside.at += ms
  // The monotonic clock goes on where the other one was set back.
  beside.nowMicros += until === 'clock-stands' ? some * 1_000_000 : ms * 1000
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
