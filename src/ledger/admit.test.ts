import { describe, expect, it } from 'vitest'
import { limitOf } from '../../test/fixtures/ledger/contract-bench.ts'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import type { Allowance } from '../model/allowance.ts'
import type { AppliedLimit } from '../model/caller.ts'
import type { NanoUsd } from '../model/money.ts'

const bench = useLedger()

const mayCallBeforeDurable = async (limits: readonly AppliedLimit[] = []) =>
  (await bench.admit({ limits })).mayCallBeforeDurable

describe('a caller that changes between its check and the decision', () => {
  it('refuse a turn, which holds nothing then', async () => {
    await bench.credit(HOLD * 2n)
    const callers = { changes: 7 }
    const check = { callers, changesBefore: callers.changes }
    expect(await bench.ledger.admit(bench.request(), check)).toMatchObject({ kind: 'admitted' })
    callers.changes += 1
    const refusal = { kind: 'caller-changed' }
    expect(await bench.ledger.admit(bench.request(), check)).toEqual({ kind: 'refused', refusal, statuses: [] })
    expect((await bench.ledger.accountStatus(bench.account)).held).toBe(HOLD)
  })
})

describe('asking the provider before the hold is durable', () => {
  it('is allowed while twenty more such holds are affordable', async () => {
    await bench.credit(HOLD * 22n - 1n)
    expect(await mayCallBeforeDurable()).toBe(true)
    expect(await mayCallBeforeDurable()).toBe(false)
  })

  it('is not near the edge of a window or a spend cap, however much the wallet has', async () => {
    const allowance = (unit: 'quota' | 'cap', amount: bigint): Allowance => ({
      subject: unit === 'cap' ? 'cap:1:day' : 'window:day',
      unit,
      name: 'day',
      cycle: { kind: 'day' },
      amount: amount as NanoUsd,
    })
    await bench.credit(HOLD * 1000n)
    const near = allowance('quota', HOLD * 22n - 1n)
    await bench.ledger.assignPlan({ account: bench.account, plan: 'p', windows: [near], endsAt: undefined })
    const builder = async () => (await bench.admit({ kind: 'builder', allowances: [near] })).mayCallBeforeDurable
    expect([await builder(), await builder()]).toEqual([true, false])
    const capped = async () =>
      (await bench.admit({ allowances: [allowance('cap', HOLD * 22n - 1n)] })).mayCallBeforeDurable
    expect([await capped(), await capped()]).toEqual([true, false])
  })

  it('is not near the edge of any limit, however much money there is', async () => {
    await bench.credit(HOLD * 1000n)
    expect(await mayCallBeforeDurable([limitOf('requests', 21, 1)])).toBe(true)
    expect(await mayCallBeforeDurable([limitOf('requests', 21, 1)])).toBe(false)
    expect(await mayCallBeforeDurable([limitOf('tokens', 21_000, 1000)])).toBe(true)
    expect(await mayCallBeforeDurable([limitOf('tokens', 21_000, 1000)])).toBe(false)
    expect(await mayCallBeforeDurable([limitOf('concurrent', 21, 1)])).toBe(true)
    expect(await mayCallBeforeDurable([limitOf('concurrent', 21, 1)])).toBe(false)
    expect(await mayCallBeforeDurable([])).toBe(true)
  })
})
