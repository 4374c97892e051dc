import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADA, BEN, doneValue, useSpending } from '../../test/fixtures/admin/spending.ts'
import { hours, usd, weekly } from '../../test/fixtures/ledger/contract-bench.ts'
import { GIVEN_BACK } from '../../test/fixtures/model/ending.ts'
import type { Plan } from '../catalog/catalog.ts'
import { windowRows as contractRows, planAnswer } from '../contract/owner.ts'
import type { Allowance } from '../model/allowance.ts'
import { formatUsd, parseUsd } from '../model/money.ts'
import { parseWindowId, planStatus, windowId } from './plans.ts'
import { windowRows } from './requests.ts'

const bench = useSpending()
const HOUR = 3_600_000
const WINDOWS: readonly Allowance[] = [hours(5, 3_000_000n), weekly(40_000_000n)]
const BUILDER = { kind: 'builder' as const, allowances: WINDOWS, plan: 'pro' }

const services = (windows = WINDOWS) => ({
  db: bench.database.db,
  ledger: bench.ledger,
  catalog: () => ({
    plans: new Map([['pro', { id: 'pro', models: ['*'], windows } as unknown as Plan]]),
    entries: new Map(),
    models: [],
  }),
})

async function plan(account = ADA, windows = WINDOWS) {
  return planAnswer.parse(await planStatus(services(windows), account))
}

async function rowsOf(id: string, { limit = 200, account = ADA } = {}) {
  const items = []
  let window: ReturnType<typeof contractRows.parse>['window'] | undefined
  for (let after: string | null | undefined; after !== null; ) {
    const query = { limit, ...(after === undefined ? {} : { after }) }
    const page = contractRows.parse(doneValue(await windowRows(services(), account, id, query)))
    items.push(...page.items)
    window = page.window
    after = page.next
  }
  return { items, window: window! }
}

const sum = (amounts: readonly string[]): string =>
  formatUsd(amounts.reduce((total, each) => total + parseUsd(each)!, 0n))

describe('the plan of an account', () => {
  it('is none, active or ended, and unused windows have no times', async () => {
    expect(await plan()).toMatchObject({ state: 'none', plan: null, windows: [], past: [] })
    await bench.subscribe(ADA, WINDOWS)
    expect(await plan()).toMatchObject({
      ...{ state: 'active', plan: 'pro', billing_day: 1, until: null },
      windows: [
        { name: '5h', opened: false, id: null, start: null, limit: '0.003', used: '0.00', left: '0.003', requests: 0 },
        { name: 'week', opened: false, id: null, requests: 0 },
      ],
    })
    await bench.spend(ADA, [10, 20], BUILDER)
    const running = await bench.ask(ADA, BUILDER)
    const [short] = (await plan()).windows
    expect(short).toMatchObject({ opened: true, held: '0.0006', requests: 2, start: '2026-10-01T00:00:00.000Z' })
    expect(sum([short!.used, short!.held, short!.left])).toBe(short!.limit)
    await running.settle(GIVEN_BACK)
    await bench.ledger.endPlan({ account: ADA })
    expect(await plan()).toMatchObject({ state: 'ended', windows: [] })
  })

  it('lists past windows with their usage, the latest first', async () => {
    await bench.subscribe(ADA, WINDOWS)
    const starts: number[] = []
    for (let window = 0; window < 14; window++) {
      starts.unshift(bench.at)
      await bench.spend(ADA, [window, 20], BUILDER)
      bench.at += 6 * HOUR
    }
    const { past } = await plan()
    const short = past.filter(({ name }) => name === '5h')
    expect(short.map(({ start }) => start)).toEqual(
      starts.slice(0, short.length).map((start) => new Date(start).toISOString()),
    )
    expect(short.length).toBeGreaterThanOrEqual(10)
    for (const { id, used, limit, start, end } of past) {
      const { items, window } = await rowsOf(id)
      expect({ used: window.used, limit: window.limit, start: window.start, end: window.end }).toEqual({
        ...{ used, limit, start, end },
      })
      expect(sum(items.map(({ charge }) => charge ?? '0.00'))).toBe(used)
    }
  })

  it('lists a window that no plan has as past, until a plan has it again', async () => {
    await bench.subscribe(ADA, WINDOWS)
    const request = await bench.spend(ADA, [10, 20], BUILDER)
    const [short, week] = (await plan()).windows
    const onlyShort = [WINDOWS[0]!]
    const changed = await plan(ADA, onlyShort)
    expect(changed.windows).toEqual([short])
    expect(changed.past).toMatchObject([{ id: week!.id, name: 'week', used: week!.used, end: week!.end }])

    await bench.ledger.endPlan({ account: ADA })
    const ended = await plan(ADA, onlyShort)
    expect(ended.past.map(({ id }) => id)).toEqual([week!.id, short!.id])
    expect((await rowsOf(week!.id!)).items.map(({ id }) => id)).toEqual([request])

    await bench.subscribe(ADA, WINDOWS)
    expect(await plan()).toMatchObject({ windows: [{ id: short!.id }, { id: week!.id }], past: [] })
  })
})

describe('the requests of a window', () => {
  it('are those that held on it, per account', async () => {
    await bench.credit(ADA, 10n ** 9n, 'a')
    for (const account of [ADA, BEN]) await bench.subscribe(account, WINDOWS)
    const early = await bench.spend(ADA, [10, 20], BUILDER)
    await bench.spend(ADA, [10, 20])
    const FREE = { inputPico: 0n, outputPicoPerToken: 0n, perRequest: usd(0n) }
    const free = await bench.spend(ADA, undefined, { ...BUILDER, terms: FREE })
    await bench.spend(BEN, [10, 20], BUILDER)
    const late = await bench.ask(ADA, BUILDER)
    const first = (await plan()).windows[0]!
    bench.at += 5 * HOUR
    const next = await bench.spend(ADA, [10, 20], BUILDER)
    const before = await rowsOf(first.id!)
    expect(before.items.map(({ id }) => id)).toEqual([late.requestId, early])
    expect(
      before.items.map(({ id }) => id),
      'what holds nothing stands on no window',
    ).not.toContain(free)
    expect(before.window).toMatchObject({ held: '0.0006', requests: 2, opened: true })
    await late.settle(GIVEN_BACK)
    expect((await rowsOf(first.id!)).window).toMatchObject({ held: '0.00', left: '0.00', requests: 2 })
    const second = (await plan()).windows[0]!
    expect((await rowsOf(second.id!)).items.map(({ id }) => id)).toEqual([next])
    expect((await plan()).past.map(({ id }) => id)).toEqual([first.id])

    const strange = (await plan(BEN)).windows[1]!.id!
    const own = (await plan()).windows[1]!.id!
    expect(strange, 'the same name and start').toBe(own)
    expect((await rowsOf(own)).items).toHaveLength(3)
    expect((await rowsOf(strange, { account: BEN })).items).toHaveLength(1)
  })

  it('of an unknown window and of another account’s get the same answer', async () => {
    await bench.subscribe(ADA, WINDOWS)
    await bench.spend(ADA, [1, 1], BUILDER)
    const { id } = (await plan()).windows[0]!
    const answers = [
      '',
      'x',
      '1000000001',
      `${id}x`,
      '1.5h',
      "1.' OR 1=1",
      `${'z'.repeat(11)}.5h`,
      `0.${'y'.repeat(300)}`,
    ]
    const refusals = await Promise.all([
      windowRows(services(), BEN, id!, { limit: 50 }),
      ...answers.map((each) => windowRows(services(), ADA, each, { limit: 50 })),
    ])
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
    expect(refusals[0]).toMatchObject({ kind: 'refused', reason: 'window_not_found' })
    expect(await windowRows(services(), ADA, id!, { after: '?', limit: 50 })).toMatchObject({
      reason: 'invalid_cursor',
    })
    expect(parseWindowId(windowId({ subject: 'window:a.b é', start: 5 }))).toEqual({
      subject: 'window:a.b é',
      start: 5,
    })
  })

  it('add up to its used and held amounts', async () => {
    const seed = 417
    const seen = { windows: 0, over: 0, rows: 0, held: 0 }
    const steps = fc.array(fc.tuple(fc.nat(5), fc.nat(400), fc.constantFrom(0, 1, HOUR, 3 * HOUR, 30 * HOUR)), {
      ...{ minLength: 25, maxLength: 25 },
    })
    for (const [account, sequence] of fc.sample(steps, { seed, numRuns: 2 }).entries()) {
      const who = account === 0 ? ADA : BEN
      await bench.subscribe(who, WINDOWS)
      const ids = new Set<string>()
      for (const [what, tokens, wait] of sequence) {
        bench.at += wait
        try {
          if (what === 0) await bench.ask(who, BUILDER)
          else await bench.spend(who, what === 1 ? undefined : [tokens, tokens % 100], BUILDER)
        } catch {
          // Used up: the next window will come.
        }
        const answer = await plan(who)
        for (const each of [...answer.windows, ...answer.past]) if (each.id !== null) ids.add(each.id)
      }
      for (const id of ids) {
        const { items, window } = await rowsOf(id, { limit: 3, account: who })
        expect(sum(items.map(({ charge }) => charge ?? '0.00')), `seed ${seed}, ${id}`).toBe(window.used)
        const held = sum(items.filter(({ state }) => state === 'open').map(({ hold }) => hold))
        expect(held, `seed ${seed}, ${id}`).toBe(window.held)
        seen.windows++
        seen.rows += items.length
        if (held !== '0.00') seen.held++
        if (window.end! <= new Date(bench.at).toISOString()) seen.over++
      }
    }
    console.info(`windows: seed ${seed}, ${JSON.stringify(seen)}`)
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(1)
  }, 60_000)
})
