import type { AccountRow } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { type Beside, BUSY, expectEqual, record, type StepOf } from './beside.fixture.ts'
import { DAY_MS } from './books.fixture.ts'
import { runningPlan } from './naive-facts.fixture.ts'
import { assignNaively, endNaively, transferNaively } from './naive-operations.fixture.ts'
import { PLANS } from './sequence-steps.fixture.ts'
import { assignPlan, endPlan } from './subscriptions.ts'
import { transferMoney } from './transfer-money.ts'

export function transfer(beside: Beside, account: number, amount: bigint): void {
  const { ledgerState, facts, count, at } = beside
  const kind = amount > 0n ? 'credit' : amount % 2n === 0n ? 'refund' : 'adjustment'
  const expected = transferNaively(facts, account, amount)
  const outcome = transferMoney(ledgerState, {
    account: account as AccountRow,
    kind,
    amount: amount as NanoUsd,
    reason: 'test',
    ref: `transfer ${ledgerState.next.transfer}`,
    at,
  })
  const { changes = [], ...said } = { changes: undefined, ...outcome }
  expectEqual(said, expected)
  record(beside, changes)
  count(`${kind}: ${outcome.kind}${outcome.kind === 'too-much' ? ` (${outcome.holder})` : ''}`)
}

export function assign(beside: Beside, step: StepOf<'assign'>): void {
  const { ledgerState, facts, count, at } = beside
  const account = BUSY[step.account]!
  const endsAt = step.days === undefined ? undefined : at + step.days * DAY_MS
  const { plan } = step
  const before = runningPlan(facts, account, at)?.plan
  const op = { plan, windows: PLANS[plan]!, endsAt, at }
  const expected = assignNaively(facts, { ...op, account })
  const outcome = assignPlan(ledgerState, { ...op, account: account as AccountRow })
  expectEqual(outcome.kind, expected.kind)
  record(beside, outcome.kind === 'changed' ? outcome.changes : [])
  const how = before === undefined ? 'a first plan' : before === plan ? 'the same plan' : 'another plan'
  count(`assign ${how}: ${outcome.kind}`)
  if (outcome.kind === 'changed' && outcome.changes.some(({ kind }) => kind === 'transferred')) {
    count('assign: widens a running window')
  }
}

export function end(beside: Beside, step: StepOf<'end'>): void {
  const { ledgerState, facts, count, at } = beside
  const account = BUSY[step.account]!
  const endsAt = at - (at % DAY_MS) + (step.days + 1) * DAY_MS
  const expected = endNaively(facts, account, endsAt, at)
  const outcome = endPlan(ledgerState, { account: account as AccountRow, endsAt, at })
  expectEqual(outcome.kind, expected.kind)
  record(beside, outcome.kind === 'changed' ? outcome.changes : [])
  count(`end: ${outcome.kind}`)
}
