import { beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get, hello } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber, spend } from '../../support/subscriber.ts'
import { nanoOf } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

const FIVE_HOURS_MS = 5 * 3_600_000

describe('a builder key draws on its plan:', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  it('until the window is full, and again exactly when the refusal said', async () => {
    const person = await openSubscriber(server(), 'pro', { credit: '1.00' })
    for (let turn = 0; turn < 4; turn++) expect((await spend(server(), person.builder, 50)).status).toBe(200)
    const { start, end, used, left } = await person.window('5h')
    expect({ used, left }).toEqual({ used: '0.20', left: '0.00' })
    const [first] = await person.receipts()
    expect(Date.parse(start!)).toBe(first!.opened_at)
    expect(Date.parse(end!)).toBe(first!.opened_at + FIVE_HOURS_MS)

    const refused = await spend(server(), person.builder, 1)
    expectProblem(refused, 'allowance_exhausted', { message: /0\.20 of 0\.20 USD has been used.*resets at/ })
    const { error } = refused.json
    expect(error).toMatchObject({ window: '5h', used: '0.20', limit: '0.20' })
    expect(error.resets_at).toBe(Math.ceil(Date.parse(end!) / 1000))
    const wait = Number(refused.headers.get('retry-after'))

    // One second before its end at the latest the window is still this one; after the wait that was named it is not.
    server().advance((wait - 2) * 1000)
    const again = await spend(server(), person.builder, 1)
    if (again.status !== 200) expectProblem(again, 'allowance_exhausted')
    server().advance(2000)
    expect((await spend(server(), person.builder, 1)).status).toBe(200)
    expect((await person.window('5h')).limit).toBe('0.20')

    // The other kind has noticed nothing of all this.
    expect(await person.wallet()).toEqual({ balance: 1_000_000_000n, held: 0n, available: 1_000_000_000n })
    expect((await spend(server(), person, 20)).status).toBe(200)
    expect((await person.wallet()).balance).toBe(980_000_000n)
    expect((await person.window('month')).used).toBe(again.status === 200 ? '0.202' : '0.201')
  })

  it('GET /v1/key shows its windows; an unused window is not open (A27)', async () => {
    const person = await openSubscriber(server(), 'pro')
    const untouched = { used: '0.00', held: '0.00', opened: false, start: null, end: null }
    expect((await get(server(), person.builder, '/key')).json).toMatchObject({
      kind: 'builder',
      wallet: null,
      plan: { id: 'pro', until: null },
      windows: [
        { name: '5h', limit: '0.20', left: '0.20', ...untouched },
        { name: 'month', limit: '1.00', left: '1.00', ...untouched },
      ],
    })
    // A refused request opens nothing either.
    expectProblem(await spend(server(), person.builder, 900), 'request_exceeds_allowance')
    expect((await person.window('5h')).opened).toBe(false)

    expect((await spend(server(), person.builder, 30)).status).toBe(200)
    const { windows } = (await get(server(), person.builder, '/key')).json
    expect(windows[0]).toMatchObject({ opened: true, limit: '0.20', used: '0.03', held: '0.00', left: '0.17' })
    expect(Date.parse(windows[0].end) - Date.parse(windows[0].start)).toBe(FIVE_HOURS_MS)
    expect(windows[1]).toMatchObject({ opened: true, used: '0.03', left: '0.97' })
    expect(windows[1].end).toMatch(/T00:00:00\.000Z$/)
    expect((await person.plan()).windows).toEqual(windows)
    // A wallet key of the same account is told nothing of it.
    expect((await get(server(), person, '/key')).json).toMatchObject({ plan: null, windows: [] })
  })

  it('an uncharged request opens no window', async () => {
    const person = await openSubscriber(server(), 'pro')
    const disconnected = new AbortController()
    const receivedRequest = chat(
      server(),
      person.builder,
      { model: 'calm', messages: hello('count to 5000') },
      { signal: disconnected.signal },
    )
    await until(async () => (await person.receipts()).some((row) => row.state === 'open'))
    const during = (await person.plan()).windows
    expect(during.map(({ opened, used }) => [opened, used])).toEqual([
      [true, '0.00'],
      [true, '0.00'],
    ])
    for (const { held } of during) expect(nanoOf(held)).toBeGreaterThan(0n)
    disconnected.abort()
    await expect(receivedRequest).rejects.toThrow()
    await until(async () => (await person.receipts()).every((row) => row.state === 'released'))
    for (const window of (await person.plan()).windows) {
      expect(window).toMatchObject({ opened: false, start: null, end: null, used: '0.00', held: '0.00' })
    }
  })

  it('it may call what the model, the plan and its own list allow', async () => {
    const person = await openSubscriber(server())
    const idsOf = async (key: string) =>
      (await get(server(), { key }, '/models')).json.data.map((entry: { id: string }) => entry.id)
    expect(await idsOf(person.builder.key)).toContain('swift-low')
    expectProblem(await chat(server(), person.builder), 'subscription_inactive', { message: /no active subscription/ })
    await person.assign('pro')
    expect(await idsOf(person.builder.key)).toEqual([
      'calm',
      'calm-low',
      'calm-medium',
      'calm-high',
      'paid',
      'builder-only',
    ])
    expectProblem(await chat(server(), person.builder), 'model_not_found')
    const narrow = await person.createKey({ kind: 'builder', models: ['calm-low', 'swift'] })
    expect(await idsOf(narrow.key)).toEqual(['calm-low'])
    await person.assign('wide')
    expect(await idsOf(narrow.key)).toEqual(['swift', 'swift-low', 'swift-medium', 'swift-high', 'calm-low'])
    expect((await chat(server(), narrow)).status).toBe(200)
    expect(await idsOf(person.key)).toContain('wallet-only')
  })

  it('receipts show which windows paid, at which prices', async () => {
    const person = await openSubscriber(server(), 'pro')
    const key = await person.createKey({ kind: 'builder', caps: { day: '1.00' } })
    const { requestId, json } = await spend(server(), key, 10)
    const receipt = (await get(server(), key, `/requests/${requestId}`)).json
    const window = await person.window('5h')
    expect(receipt).toMatchObject({
      kind: 'builder',
      charge: '0.01',
      cost: '0.01',
      price_version: 1,
      tier: 0,
      tokens: { uncached_input: json.usage.prompt_tokens, cached_input: 0, cache_write: 0, output: 10 },
      price: { input: '0.00', output: '1000.00' },
      attempts: [{ outcome: 'finished', status: 200 }],
    })
    expect(receipt.paid_by).toMatchObject({ kind: 'plan', plan: 'pro', caps: [{ name: 'day' }] })
    expect(receipt.paid_by.windows[0]).toEqual({ name: '5h', start: window.start, end: window.end })
    expect(receipt.paid_by.windows[1].name).toBe('month')
    const { requestId: other } = await spend(server(), person, 10)
    expect((await get(server(), key, `/requests/${other}`)).json.paid_by).toEqual({
      kind: 'wallet',
      plan: null,
      windows: [],
      caps: [],
    })
    const trace = await server().operate('requests.trace', { request: requestId })
    expect(trace).toMatchObject({ paid_by: receipt.paid_by, price: receipt.price, lane: 'demo/demo-fast' })
  })

  it('window usage is the exact sum of its rows (A26)', async () => {
    const person = await openSubscriber(server(), 'wide')
    for (const model of ['swift', 'paid', 'vendor/slashed', 'trap-high', 'builder-only', 'calm']) {
      const answer = await chat(server(), person.builder, { model, max_tokens: 7, messages: hello('count to 9') })
      expect(answer.status, model).toBe(200)
    }
    const { windows } = (await get(server(), person.builder, '/key')).json
    const charges = await Promise.all(
      (await person.receipts()).map(async ({ request_id }) => {
        const { json } = await get(server(), person.builder, `/requests/${request_id}`)
        for (const [index, paid] of json.paid_by.windows.entries()) expect(paid.start).toBe(windows[index].start)
        return nanoOf(json.charge)
      }),
    )
    const sum = charges.reduce((total, charge) => total + charge, 0n)
    expect(charges).toHaveLength(6)
    for (const { used, left, limit, held } of windows) {
      expect(nanoOf(used)).toBe(sum)
      expect(nanoOf(used) + nanoOf(left) + nanoOf(held)).toBe(nanoOf(limit))
    }
  })

  it('a full window has its own error, unlike a rate limit or an empty wallet (A25, A28)', async () => {
    const person = await openSubscriber(server(), 'pro', { credit: '0' })
    const slow = await person.createKey({ kind: 'builder', limits: { requests_per_minute: 1 } })
    expect((await spend(server(), slow, 200)).status).toBe(200)
    const full = await spend(server(), person.builder, 1)
    expectProblem(full, 'allowance_exhausted')
    const poor = await spend(server(), person, 1)
    expectProblem(poor, 'insufficient_balance')
    server().advance(5 * 3_600_000)
    expect((await spend(server(), slow, 1)).status).toBe(200)
    const burst = await spend(server(), slow, 1)
    expectProblem(burst, 'rate_limit_exceeded')
    expect(burst.json.error).toMatchObject({ limit: { scope: 'key', kind: 'requests', value: 1 } })
    expect(Number(burst.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(full.json.error).toMatchObject({ window: '5h', limit: '0.20', used: '0.20' })
    expect(poor.headers.get('retry-after')).toBeNull()
    expect(new Set([full, burst, poor].map(({ json }) => json.error.code)).size).toBe(3)
  })

  it('never on the wallet, nor a wallet key on the plan (A4)', async () => {
    for (const wallet of ['0', '1.00']) {
      for (const full of [true, false]) {
        const person = await openSubscriber(server(), 'pro', { credit: wallet })
        if (full) expect((await spend(server(), person.builder, 200)).status).toBe(200)
        const before = { wallet: await person.wallet(), plan: await person.window('5h') }
        const byWallet = await spend(server(), person, 10)
        expect(byWallet.status, `wallet ${wallet}, window full: ${full}`).toBe(wallet === '0' ? 402 : 200)
        if (wallet === '0') expectProblem(byWallet, 'insufficient_balance')
        expect(await person.window('5h')).toEqual(before.plan)
        const between = await person.wallet()
        const byPlan = await spend(server(), person.builder, 10)
        if (full) expectProblem(byPlan, 'allowance_exhausted')
        else expect(nanoOf(byPlan.json.usage.millrace.charge)).toBe(10_000_000n)
        expect(await person.wallet()).toEqual(between)
      }
    }
  })
})
