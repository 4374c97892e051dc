import { describe, expect, it } from 'vitest'
import {
  ACCOUNT,
  accountOf,
  assign,
  builderWith,
  capOf,
  DAY_MS,
  HOUR_MS,
  stateWith,
  time,
  turnsOn,
  windowOf,
} from '../../../test/fixtures/ledger/state/state.ts'
import type { Allowance } from '../../model/allowance.ts'
import { endPlan } from './operator-commands.ts'
import type { LedgerState } from './state.ts'

const T0 = time('2026-01-31T09:30:00Z')
const SMALL = [windowOf('5h', 5_000n), windowOf('month', 20_000n)]
const LARGE = [windowOf('5h', 12_000n), windowOf('month', 60_000n)]

const amounts = (ledgerState: LedgerState) =>
  ['window:5h', 'window:month'].map((subject) => {
    const { granted, posted } = accountOf(ledgerState).periods.get(subject)!
    return [granted, posted]
  })
const end = (ledgerState: LedgerState, endsAt: number, at: number) =>
  endPlan(ledgerState, { account: ACCOUNT, endsAt, at })

function usedPlan(windows: readonly Allowance[]) {
  const builder = builderWith(windows, T0)
  builder.hold('a', 2_000, T0)
  builder.settle('a', 2_500n, T0)
  return builder
}

describe('a plan', () => {
  it('is needed by a builder key, and not by a wallet key', () => {
    const ledgerState = stateWith(10_000n)
    const { hold } = turnsOn(ledgerState, { allowances: SMALL })
    expect(hold('a', 10, T0, { kind: 'builder' })).toEqual({ kind: 'no-subscription' })
    expect(hold('a', 10, T0).kind).toBe('held')
  })

  it('counts until just before its end, and turns that run then keep what they hold', () => {
    const { ledgerState, hold, settle } = builderWith(SMALL, T0)
    const endsAt = T0 + DAY_MS
    expect(end(ledgerState, endsAt, T0)).toMatchObject({ kind: 'changed', subscription: { endsAt } })
    expect(hold('a', 100, endsAt - 1).kind).toBe('held')
    expect(hold('b', 100, endsAt)).toEqual({ kind: 'no-subscription' })
    expect(settle('a', 1_050n, endsAt + 1)).toMatchObject({ kind: 'closed', charge: 1_050n })
  })

  it('that was changed while a request was on its way has none of its windows opened by it', () => {
    const { ledgerState, hold } = builderWith(SMALL, T0)
    assign(ledgerState, 'other', LARGE, T0 + 1)
    expect(hold('late', 10, T0 + 2, { plan: 'plan' })).toEqual({ kind: 'plan-changed' })
    expect(accountOf(ledgerState).periods.size).toBe(0)
    expect(hold('again', 10, T0 + 3, { plan: 'other', allowances: LARGE }).kind).toBe('held')
  })

  it('that is assigned again as it is changes nothing; with another end, only that', () => {
    const { ledgerState } = usedPlan(SMALL)
    expect(assign(ledgerState, 'plan', SMALL, T0 + 1)).toMatchObject({ kind: 'unchanged' })
    const changed = assign(ledgerState, 'plan', SMALL, T0 + 1, T0 + DAY_MS)
    expect(changed).toMatchObject({ changes: [{ kind: 'subscription-ended', subscription: 1, endsAt: T0 + DAY_MS }] })
    expect(end(ledgerState, T0 + DAY_MS, T0 + 2)).toMatchObject({ kind: 'unchanged' })
    expect(assign(ledgerState, 'plan', SMALL, T0 + 3)).toMatchObject({ changes: [{ endsAt: undefined }] })
  })

  it('cannot be ended where none runs', () => {
    expect(end(stateWith(0n), T0, T0)).toEqual({ kind: 'no-subscription' })
  })
})

describe('another plan', () => {
  it('with more grants it at once, and what was used stays used', () => {
    const { ledgerState, hold } = usedPlan(SMALL)
    const changed = assign(ledgerState, 'large', LARGE, T0 + HOUR_MS)
    expect(amounts(ledgerState)).toEqual([
      [12_000n, 9_500n],
      [60_000n, 57_500n],
    ])
    expect(changed).toMatchObject({
      changes: [{ kind: 'subscription-ended' }, { kind: 'subscription-started' }, {}, {}, {}, {}],
    })
    expect(hold('b', 8_500, T0 + HOUR_MS, { allowances: LARGE, modelCap: 9_000 }).kind).toBe('held')
  })

  it('with less counts for the windows that open from then on', () => {
    const { ledgerState, hold } = usedPlan(LARGE)
    assign(ledgerState, 'small', SMALL, T0 + HOUR_MS)
    expect(amounts(ledgerState)).toEqual([
      [12_000n, 9_500n],
      [60_000n, 57_500n],
    ])
    hold('b', 100, T0 + 6 * HOUR_MS, { allowances: SMALL })
    expect(amounts(ledgerState)).toEqual([
      [5_000n, 5_000n],
      [60_000n, 57_500n],
    ])
  })

  it('does not widen a window that has ended or was never used: it opens by the new plan anyway', () => {
    const { ledgerState } = usedPlan(SMALL)
    assign(ledgerState, 'large', LARGE, T0 + 6 * HOUR_MS)
    expect(amounts(ledgerState)[0]).toEqual([5_000n, 2_500n])
    const unused = builderWith(SMALL, T0)
    unused.hold('a', 100, T0)
    unused.release('a', T0)
    assign(unused.ledgerState, 'large', LARGE, T0 + 1)
    expect(amounts(unused.ledgerState)[0]).toEqual([5_000n, 5_000n])
  })

  it('widens a window on which nothing but a hold stands', () => {
    const { ledgerState, hold } = builderWith(SMALL, T0)
    hold('a', 100, T0)
    assign(ledgerState, 'large', LARGE, T0 + 1)
    expect(amounts(ledgerState)[0]).toEqual([12_000n, 12_000n])
  })

  it('keeps the day of billing as long as the subscription goes on; a new one begins on its own', () => {
    const { ledgerState } = usedPlan(SMALL)
    assign(ledgerState, 'large', LARGE, time('2026-02-10T00:00:00Z'))
    expect(accountOf(ledgerState).subscription).toMatchObject({ row: 2, plan: 'large', billingDay: 31 })
    end(ledgerState, time('2026-02-11T00:00:00Z'), time('2026-02-10T12:00:00Z'))
    assign(ledgerState, 'large', LARGE, time('2026-02-12T00:00:00Z'))
    expect(accountOf(ledgerState).subscription).toMatchObject({ row: 3, billingDay: 12 })
  })

  it('leaves wallet and spend caps as they are', () => {
    const { ledgerState, hold, settle } = builderWith(SMALL, T0)
    hold('a', 500, T0, { allowances: [...SMALL, capOf('day', 4_000n)] })
    settle('a', 1_200n, T0)
    assign(ledgerState, 'large', LARGE, T0 + 1)
    expect(accountOf(ledgerState).counters.get('cap:1:day')).toMatchObject({ bound: 4_000n, spent: 1_200n })
    expect(accountOf(ledgerState).wallet.posted).toBe(1_000_000n)
  })
})
