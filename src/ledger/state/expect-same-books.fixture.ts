import { expect } from 'vitest'
import type { Beside } from './beside.fixture.ts'
import { grantedIn, type NaivePeriod, sum, usedIn, walletOf } from './naive-facts.fixture.ts'
import { bucketOf, type RecordedBucket } from './recorded-rows.fixture.ts'
import type { AccountState, Bucket, PeriodBucket, SpendCounter } from './state.ts'

/** What the books hold, what the facts add up to, and what the recorded changes add up to. */
export function expectSameState(beside: Beside): void {
  const { ledgerState, rows } = beside
  const rowOf = rowsOfPeriods(beside)
  for (const account of ledgerState.accounts.values()) {
    const { wallet } = account
    expectAmounts(wallet, { row: wallet.row, ...walletOf(beside.facts, account.account) })
    expectAsRecorded(beside, account)
    for (const counter of account.counters.values()) expectCounter(beside, account.account, counter)
  }
  for (const period of beside.facts.periods) {
    const row = rowOf.get(period)
    if (row !== undefined) expectPeriod(beside, period, bucketOf(rows, row))
  }
  expectUseOfRows(beside)
  expectClaimsAndPlans(beside)
  expectMovements(beside)
  const open = beside.facts.turns.filter(({ state }) => state === 'open')
  if (ledgerState.turns.size !== open.length)
    expect([...ledgerState.turns.keys()]).toEqual(open.map(({ requestId }) => requestId))
}

interface Amounts {
  readonly row: number
  readonly posted: bigint
  readonly held: bigint
}

function expectAmounts({ row, posted, held }: Amounts, expected: Amounts): void {
  if (row === expected.row && posted === expected.posted && held === expected.held && posted >= held) return
  expect({ row, posted, held }).toEqual({ ...expected })
  expect(posted - held).toBeGreaterThanOrEqual(0n)
}

/** Somebody who reads the rows now finds the same buckets, the newest of each kind last. */
function expectAsRecorded({ rows }: Beside, { account, wallet, periods, outlived }: AccountState): void {
  const live = [...rows.buckets.values()].filter((bucket) => bucket.account === account && !bucket.closed)
  const ours = new Map<number, Bucket>([wallet, ...periods.values(), ...outlived].map((bucket) => [bucket.row, bucket]))
  if (live.length !== ours.size) expect([...ours.keys()]).toEqual(live.map(({ row }) => row))
  const newest = new Map<string, number>()
  for (const recorded of live) {
    newest.set(recorded.subject, recorded.row)
    const bucket = ours.get(recorded.row)
    if (!bucket) expect([...ours.keys()]).toContain(recorded.row)
    else expectAmounts(bucket, recorded)
  }
  for (const period of [...periods.values(), ...outlived]) expectPeriodAsRecorded(period, bucketOf(rows, period.row))
  for (const [subject, { row }] of periods) if (newest.get(subject) !== row) expect(row).toBe(newest.get(subject))
}

function expectPeriodAsRecorded(period: PeriodBucket, recorded: RecordedBucket): void {
  const { start, end, granted } = recorded
  if (period.start === start && period.end === end && period.granted === granted) return
  expect(period).toMatchObject({ start, end, granted })
}

/** On which row the turns of a period were held; a row whose period counts as unopened may serve another one. */
function rowsOfPeriods({ facts, rows }: Beside): Map<NaivePeriod, number> {
  const found = new Map<NaivePeriod, number>()
  facts.turns.forEach((turn, index) => {
    const periods = rows.receipts.get(index + 1)!.buckets.slice(turn.onWallet ? 1 : 0)
    const windows = turn.onPeriods.filter(({ unit }) => unit === 'quota')
    if (periods.length !== windows.length) expect(periods).toHaveLength(windows.length)
    windows.forEach((period, place) => {
      const row = periods[place]!
      const before = found.get(period) ?? row
      if (before !== row) expect(row, 'turns of one period stand on one row').toBe(before)
      found.set(period, row)
    })
  })
  return found
}

function expectPeriod({ facts }: Beside, period: NaivePeriod, recorded: RecordedBucket): void {
  const { used, held } = usedIn(facts, period)
  if (used === 0n && held === 0n) return
  const granted = grantedIn(period)
  const rest = granted - used
  const expected = { ...recorded, granted, held, end: period.end }
  expected.posted = recorded.closed ? 0n : rest
  expected.expired = recorded.closed ? rest : 0n
  const same =
    recorded.granted === granted &&
    recorded.held === held &&
    recorded.end === period.end &&
    recorded.posted === expected.posted &&
    recorded.expired === expected.expired
  if (!same) expect(recorded).toEqual(expected)
}

/** What is counted under a cap is what the turns of its period have cost and hold; what was recorded last says the same. */
function expectCounter({ facts, rows }: Beside, account: number, counter: SpendCounter): void {
  const { subject, end, spent, held, bound } = counter
  const uses = facts.periods
    .filter((period) => period.account === account && period.subject === subject && period.end === end)
    .map((period) => usedIn(facts, period))
  const expected = { spent: sum(uses.map(({ used }) => used)), held: sum(uses.map((use) => use.held)) }
  if (spent !== expected.spent || held !== expected.held) expect({ spent, held }, subject).toEqual(expected)
  expect(spent + held, subject).toBeLessThanOrEqual(bound)
  expect(rows.counters.get(`${account} ${subject}`)).toMatchObject({ ...counter })
}

/** The bar of a window is the sum of the turns that are listed under it, to the last unit. */
function expectUseOfRows({ rows }: Beside): void {
  const used = new Map<number, bigint>()
  for (const { buckets, charge = 0n } of rows.receipts.values()) {
    for (const row of buckets) used.set(row, (used.get(row) ?? 0n) + charge)
  }
  for (const { row, unit, account, granted, expired, posted } of rows.buckets.values()) {
    if (unit === 'usd' || account === undefined) continue
    const shown = granted - expired - posted
    if (shown !== (used.get(row) ?? 0n)) expect(shown, `used of row ${row}`).toBe(used.get(row) ?? 0n)
  }
}

/** Each account has counted what is recorded, and what the facts know of it comes in the same order with the same balances. */
function expectMovements({ ledgerState, rows, facts }: Beside): void {
  for (const { account, movements } of ledgerState.accounts.values()) {
    const recorded = rows.movements.get(account) ?? []
    if (movements !== recorded.length) expect(movements, `movements of ${account}`).toBe(recorded.length)
    const known = recorded.filter(({ what }) => what !== 'allowance')
    const history = facts.history.filter((each) => each.account === account)
    if (known.length !== history.length) expect(known, `of account ${account}`).toHaveLength(history.length)
    const [last, expected] = [known.at(-1), history.at(-1)]
    if (last?.what === expected?.what && last?.balance === expected?.balance) continue
    expect(last).toMatchObject({ what: expected?.what, balance: expected?.balance })
  }
}

function expectClaimsAndPlans({ ledgerState, rows, facts }: Beside): void {
  for (const [scope, claim] of ledgerState.claims) {
    const recorded = rows.claims.get(scope)
    if (claim?.receipt === recorded?.receipt && claim?.state === recorded?.state) continue
    expect(claim).toMatchObject(recorded ?? { scope: 'free' })
  }
  for (const { account, subscription } of ledgerState.accounts.values()) {
    const planned = facts.plans.findLast((each) => each.account === account)
    expectSamePlan(subscription, planned)
    if (subscription) expectSamePlan(rows.plans.get(subscription.row), planned)
  }
}

interface Planned {
  readonly plan: string
  readonly billingDay: number
  readonly endsAt: number | undefined
}

function expectSamePlan(said: Planned | undefined, { plan, billingDay, endsAt }: Partial<Planned> = {}): void {
  if (said?.plan === plan && said?.billingDay === billingDay && said?.endsAt === endsAt) return
  expect(said).toMatchObject({ plan, billingDay, endsAt })
}
