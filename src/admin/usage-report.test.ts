import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Asked,
  type BenchAccount,
  openUsageBench,
  type UsageBench,
} from '../../test/fixtures/admin/usage-bench.ts'
import { usageAnswer } from '../contract/owner.ts'
import { lastUsedOf } from '../db/content/usage-totals.ts'
import type { AccountId } from '../model/ids.ts'
import { exportUsage, type UsageAnswer, type UsageArgs, usageOverview, usageReport } from './usage-report.ts'

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

const query = (over: Partial<UsageArgs> = {}): UsageArgs => ({
  ...{ account: ada.id, from: '2026-11-22', to: '2026-11-23', zone: 'UTC', step: 'hour', by: 'model', ...over },
})

async function report(over: Partial<UsageArgs> = {}): Promise<UsageAnswer> {
  const answer = await usageReport(bench.sources, query(over))
  if (answer.kind === 'refused') throw new Error(answer.message)
  return usageAnswer.parse(answer.value)
}

const refusal = async (over: Partial<UsageArgs>) => {
  const answer = await usageReport(bench.sources, query(over))
  return answer.kind === 'refused' ? answer.reason : answer.value
}

const ask = (over: Partial<Asked> = {}) =>
  bench.ask({
    ...{ account: ada, key: ada.keys[0]!, model: 'demo', outcome: 'completed' },
    ...{ tokens: [10, 20, 30, 40, 5], cost: 1_000n, ...over },
  } as Asked)

describe('usage', () => {
  it('has in it what was paid a moment ago, and nothing of anybody else', async () => {
    const ben = await bench.addAccount('ben@example.com')
    await ask({ account: ben, key: ben.keys[0]!, cost: 7n })
    await ask()
    const answer = await report()
    expect(answer.total).toEqual({
      ...{ requests: 1, failed: 0, uncached_input: 10, cached_input: 20, cache_write: 30, output: 40, reasoning: 5 },
      ...{ wallet: '0.000001', plan: '0.00' },
    })
    expect(answer.steps).toHaveLength(24)
    expect(answer.total_steps[12]).toEqual(answer.total)
    expect(answer.as_of).toBe(new Date(NOON).toISOString())
    expect((await report({ account: ben.id })).total.wallet).toBe('0.000000007')
  })

  it('tells what the wallet has paid from what the plan has, and a request that failed from one that did not', async () => {
    await ask({ cost: 5n })
    await ask({ key: ada.keys[1]!, cost: 3n, outcome: 'client_gone' })
    await ask({ tokens: undefined, outcome: 'upstream_failed' })
    const { total, table } = await report({ by: 'kind' })
    expect(total).toMatchObject({ requests: 3, failed: 2, wallet: '0.000000005', plan: '0.000000003' })
    expect(table.map(({ id, used }) => [id, used.requests])).toEqual([
      ['wallet', 2],
      ['builder', 1],
    ])
  })

  it('is narrowed to a model, a key, a kind, and all of them together', async () => {
    for (const [index, key] of ada.keys.entries()) {
      for (const model of ['a', 'b']) await ask({ key, model, cost: BigInt(10 ** index) * (model === 'a' ? 1n : 2n) })
    }
    const wallet = async (over: Partial<UsageArgs>) => {
      const { total, table } = await report(over)
      return [total.wallet, total.plan, ...table.map(({ id }) => id)]
    }
    expect(await wallet({ model: 'a' })).toEqual(['0.000000101', '0.00000101', 'a'])
    expect(await wallet({ key: ada.keys[2]!.id })).toEqual(['0.0000003', '0.00', 'b', 'a'])
    expect(await wallet({ kind: 'builder', by: 'key' })).toEqual([
      '0.00',
      '0.00000303',
      ada.keys[3]!.id,
      ada.keys[1]!.id,
    ])
    expect(await wallet({ kind: 'wallet', key: ada.keys[0]!.id, model: 'b', by: 'kind' })).toEqual([
      ...['0.000000002', '0.00', 'wallet'],
    ])
    expect(await wallet({ kind: 'builder', key: ada.keys[0]!.id })).toEqual(['0.00', '0.00'])
    expect(await wallet({ model: 'unused' })).toEqual(['0.00', '0.00'])
  })

  it('shows the eight largest one by one, and the rest as one', async () => {
    for (let index = 1; index <= 11; index++) await ask({ model: `m${index}`, cost: BigInt(index) })
    const { series, table } = await report()
    expect(series.map(({ id }) => id)).toEqual(['m11', 'm10', 'm9', 'm8', 'm7', 'm6', 'm5', 'm4', null])
    expect(series.at(-1)).toMatchObject({ name: 'the rest', total: { requests: 3, wallet: '0.000000006' } })
    expect(series.at(-1)?.steps[12]?.wallet).toBe('0.000000006')
    expect(table).toHaveLength(11)
  })

  it('looks at so many parts one by one, the newest keys first, and has all others as one', async () => {
    for (const [index, key] of ada.keys.entries()) await ask({ key, cost: BigInt(10 ** index) })
    const few = { ...bench.sources, partsMax: 2 }
    const answer = await usageReport(few, query({ by: 'key' }))
    if (answer.kind === 'refused') throw new Error(answer.message)
    const { total, series, table } = usageAnswer.parse(answer.value)
    expect(total).toMatchObject({ requests: 4, wallet: '0.000000101', plan: '0.00000101' })
    expect(table.map(({ id }) => id)).toEqual([ada.keys[3]!.id, ada.keys[2]!.id, null])
    expect(table.at(-1)?.used).toMatchObject({ requests: 2, wallet: '0.000000001', plan: '0.00000001' })
    expect(series.at(-1)).toMatchObject({ id: null, total: { requests: 2, plan: '0.00000001' } })
    expect(await exportUsage(few, query({ by: 'key' })), 'no row would say what is left out').toMatchObject({
      reason: 'invalid_range',
    })
    expect((await report({ by: 'key' })).table.map(({ id }) => id)).not.toContain(null)
  })

  it('by person and by team reads few series, and is the same where an earlier version has counted by key alone', async () => {
    const { file } = bench.database
    await file.atomic([
      {
        sql: `INSERT INTO people (row, id, email, role, account, password, created_at, password_changed_at)
          VALUES (?, ?, ?, 'member', ${ada.row}, 'none', 1, 1)`,
        rows: [
          [81, 'usr_eve', 'eve@example.com'],
          [82, 'usr_fay', 'fay@example.com'],
        ],
      },
      {
        sql: 'INSERT INTO teams (row, id, account, name, created_at) VALUES (7, ?, ?, ?, 1)',
        rows: [['team_red', ada.row, 'Red']],
      },
      {
        sql: 'UPDATE keys SET person = ?, team = ? WHERE row = ?',
        rows: [
          [81, 7, ada.keys[0]!.row],
          [82, 7, ada.keys[1]!.row],
          [81, null, ada.keys[2]!.row],
        ],
      },
    ])
    const askAll = async () => {
      for (const [index, key] of ada.keys.entries()) await ask({ key, cost: BigInt(10 ** index) })
      bench.clock.at += HOUR
    }
    await askAll()
    await askAll()
    let read = 0
    const all: UsageBench['content']['all'] = async (sql, parameters) => {
      if (sql.includes('usage.quarter = ')) read += (JSON.parse(String(parameters[0])) as unknown[]).length
      return bench.content.all(sql, parameters)
    }
    const reports = async () => {
      read = 0
      const answers = []
      for (const by of ['person', 'team'] as const) {
        const answer = await usageReport({ ...bench.sources, content: { ...bench.content, all } }, query({ by }))
        if (answer.kind === 'refused') throw new Error(answer.message)
        const { total_steps, series, table } = usageAnswer.parse(answer.value)
        answers.push({ total_steps, series, table })
      }
      return answers
    }
    const [people, teams] = await reports()
    const names = (answer: typeof people) =>
      answer?.table.map(({ id, name, used }) => [id, name, used.wallet, used.plan])
    expect(names(people)).toEqual([
      ['none', 'none', '0.00', '0.000002'],
      ['usr_eve', 'eve@example.com', '0.000000202', '0.00'],
      ['usr_fay', 'fay@example.com', '0.00', '0.00000002'],
    ])
    expect(names(teams)).toEqual([
      ['none', 'none', '0.0000002', '0.000002'],
      ['team_red', 'Red', '0.000000002', '0.00000002'],
    ])
    const few = read

    // As if an earlier version had counted until now.
    const owners = `substr(model, 1, 1) = ':'`
    await bench.content.atomic([
      { sql: `DELETE FROM usage WHERE series IN (SELECT series FROM usage_series WHERE ${owners})`, rows: [[]] },
      { sql: `DELETE FROM usage_series WHERE ${owners}`, rows: [[]] },
    ])
    expect(await reports()).toEqual([people, teams])
    expect(read).toBeGreaterThan(few)
    await askAll()
    expect(names((await reports())[0])).toEqual([
      ['none', 'none', '0.00', '0.000003'],
      ['usr_eve', 'eve@example.com', '0.000000303', '0.00'],
      ['usr_fay', 'fay@example.com', '0.00', '0.00000003'],
    ])
  })

  it('is refused for a key of another account as for one that there is not', async () => {
    const ben = await bench.addAccount('ben@example.com')
    expect(await refusal({ key: ben.keys[0]!.id })).toBe('key_not_found')
    expect(await refusal({ key: 'key_none' })).toBe('key_not_found')
    expect(await refusal({ account: 'acct_none' })).toBe('account_not_found')
  })

  it('is refused when there are too many steps, with the step to take instead', async () => {
    const answer = await usageReport(bench.sources, query({ from: '2026-01-01', step: 'hour' }))
    expect(answer).toMatchObject({ reason: 'invalid_range', message: expect.stringContaining('Use step day') })
    const days = await usageReport(bench.sources, query({ from: '2025-01-01', step: 'day' }))
    expect(days).toMatchObject({ reason: 'invalid_range', message: expect.stringContaining('Use step month') })
    expect(await refusal({ from: '2020-01-01', step: 'month' })).toBe('invalid_range')
    expect((await report({ from: '2022-01-01', step: 'month' })).steps).toHaveLength(59)
  })

  it('as CSV has a row for each step and model, and no name in it is a formula', async () => {
    await ask()
    bench.clock.at += HOUR
    await ask({ key: ada.keys[2]!, cost: 10n })
    const csv = await exportUsage(bench.sources, query({ by: 'key' }))
    expect(csv.kind === 'done' && csv.value.split('\r\n')).toEqual([
      'begins_at,key,name,requests,failed,uncached_input,cached_input,cache_write,output,reasoning,wallet_usd,plan_usd',
      `2026-11-22T12:00:00.000Z,${ada.keys[0]!.id},"'=wallet ""0""",1,0,10,20,30,40,5,0.000001,0.00`,
      `2026-11-22T13:00:00.000Z,${ada.keys[2]!.id},"'=wallet ""2""",1,0,10,20,30,40,5,0.00000001,0.00`,
      '',
    ])
  })

  it('is told of today and of the last 24 hours in any zone', async () => {
    await ask({ cost: 1n })
    bench.clock.at += 8 * HOUR
    await ask({ cost: 10n })
    const overview = await usageOverview(bench.sources, { account: ada.id, zone: 'Asia/Kolkata' })
    if (overview.kind === 'refused') throw new Error(overview.message)
    const { today, hours } = overview.value
    // In Kolkata it is half past one at night.
    expect(today.wallet).toBe('0.00000001')
    expect(hours).toHaveLength(24)
    expect(hours.at(-1)).toMatchObject({ from: '2026-11-22T19:30:00.000Z', used: { wallet: '0.00000001' } })
    expect(hours.at(-9)).toMatchObject({ from: '2026-11-22T11:30:00.000Z', used: { wallet: '0.000000001' } })
    expect(await usageOverview(bench.sources, { account: ada.id, zone: 'Nowhere' })).toMatchObject({
      reason: 'invalid_range',
    })
  })

  it('tells of each key when it was last used', async () => {
    await ask()
    bench.clock.at += 5
    await ask()
    await report()
    const rows = ada.keys.map(({ row }) => row)
    expect(await lastUsedOf(bench.content, ada.id, rows)).toEqual(new Map([[rows[0], NOON + 5]]))
    expect(await lastUsedOf(bench.content, 'acct_other' as AccountId, rows)).toEqual(new Map())
  })
})
