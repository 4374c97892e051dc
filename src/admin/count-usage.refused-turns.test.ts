import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BenchAccount, openUsageBench, type UsageBench } from '../../test/fixtures/admin/usage-bench.ts'
import { refusedTurnsAnswer } from '../contract/owner.ts'
import type { AccountId, KeyId } from '../model/ids.ts'
import type { ProblemCode } from '../model/problem.ts'
import { refusedTurnsReport, usageOverview } from './usage-report.ts'

const NOON = Date.UTC(2026, 10, 22, 12)
const HOUR = 3_600_000

let bench: UsageBench
let ada: BenchAccount

beforeEach(async () => {
  bench = await openUsageBench(NOON)
  ada = await bench.addAccount('ada@example.com')
})
afterEach(async () => {
  await bench.close()
})

function refuse(code: ProblemCode, { id, keys }: BenchAccount = ada, key = 0): void {
  const { id: keyId, kind } = keys[key]!
  bench.refusedTurns.note({ accountId: id as AccountId, keyId: keyId as KeyId, kind }, code)
}

type Args = Parameters<typeof refusedTurnsReport>[1]

async function report(over: Partial<Args> = {}) {
  const days = { from: '2026-11-22', to: '2026-11-23', zone: 'UTC', step: 'hour' } as const
  const answer = await refusedTurnsReport(bench.sources, { account: ada.id, ...days, ...over })
  if (answer.kind === 'refused') throw new Error(answer.message)
  return refusedTurnsAnswer.parse(answer.value)
}

const counts = async (over: Partial<Args> = {}) =>
  (await report(over)).reasons.map(({ code, total }) => `${code} ${total}`)

describe('turns that were refused', () => {
  it('are counted by reason and hour, the most frequent first, per account', async () => {
    const ben = await bench.addAccount('ben@example.com')
    refuse('insufficient_balance')
    refuse('rate_limit_exceeded')
    refuse('rate_limit_exceeded', ben)
    bench.clock.at += HOUR
    refuse('rate_limit_exceeded')
    const { steps, reasons } = await report()
    expect(steps).toHaveLength(24)
    expect(reasons.map(({ code, total }) => [code, total])).toEqual([
      ['rate_limit_exceeded', 2],
      ['insufficient_balance', 1],
    ])
    expect(reasons[0]?.steps.slice(11, 15)).toEqual([0, 1, 1, 0])
    expect(await counts({ account: ben.id })).toEqual(['rate_limit_exceeded 1'])
  })

  it('can be filtered by key and kind', async () => {
    for (const key of [0, 0, 1, 2]) refuse('rate_limit_exceeded', ada, key)
    expect(await counts({ key: ada.keys[0]!.id })).toEqual(['rate_limit_exceeded 2'])
    expect(await counts({ kind: 'wallet' })).toEqual(['rate_limit_exceeded 3'])
    expect(await counts({ kind: 'builder', key: ada.keys[1]!.id })).toEqual(['rate_limit_exceeded 1'])
    expect(await counts({ kind: 'builder', key: ada.keys[0]!.id })).toEqual([])
    const ben = await bench.addAccount('ben@example.com')
    const stranger = await refusedTurnsReport(bench.sources, {
      ...{ account: ben.id, key: ada.keys[0]!.id, from: '2026-11-22', to: '2026-11-23', zone: 'UTC', step: 'day' },
    })
    expect(stranger).toMatchObject({ kind: 'refused', reason: 'key_not_found' })
  })

  it('survive a restart and are added to', async () => {
    refuse('rate_limit_exceeded')
    await bench.restart()
    refuse('rate_limit_exceeded')
    bench.clock.at += 24 * HOUR
    refuse('rate_limit_exceeded')
    expect(await counts()).toEqual(['rate_limit_exceeded 2'])
    expect(await counts({ to: '2026-11-24', step: 'day' })).toEqual(['rate_limit_exceeded 3'])
  })

  it('wait for a failing disk, and count once', async () => {
    refuse('rate_limit_exceeded')
    bench.failing = 1
    expect(await counts()).toEqual([])
    expect(bench.failures).toHaveLength(1)
    expect(await counts()).toEqual(['rate_limit_exceeded 1'])
    expect(await counts()).toEqual(['rate_limit_exceeded 1'])
  })

  it('count for their own hour after a clock error', async () => {
    refuse('rate_limit_exceeded')
    await bench.refusedTurns.flush()
    bench.clock.at -= 2 * HOUR
    refuse('rate_limit_exceeded')
    const [reason] = (await report()).reasons
    expect(reason?.steps.slice(9, 14)).toEqual([0, 1, 0, 1, 0])
  })

  it('are reported for 400 days, before and after the sweep', async () => {
    refuse('rate_limit_exceeded')
    bench.clock.at += 24 * HOUR
    refuse('rate_limit_exceeded')
    const both = { to: '2026-11-24', step: 'day' } as const
    bench.clock.at += 398 * 24 * HOUR
    expect(await counts(both)).toEqual(['rate_limit_exceeded 2'])
    bench.clock.at += 2 * 24 * HOUR - 12 * HOUR
    const [reason] = (await report(both)).reasons
    expect(reason?.steps).toEqual([0, 1])
    await bench.refusedTurns.sweep()
    expect((await report(both)).reasons).toEqual([reason])
    bench.clock.at += 24 * HOUR
    await bench.refusedTurns.sweep()
    expect(await counts(both)).toEqual([])
    expect(await bench.content.all('SELECT * FROM refused_series', [])).toEqual([])
  })

  it('of today are in the usage overview', async () => {
    refuse('rate_limit_exceeded')
    bench.clock.at += 20 * HOUR
    refuse('insufficient_balance')
    refuse('rate_limit_exceeded')
    const overview = await usageOverview(bench.sources, { account: ada.id, zone: 'UTC' })
    expect(overview).toMatchObject({ kind: 'done', value: { refused_today: 2 } })
  })
})
