import { beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, hello, send } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber, spend } from '../../support/subscriber.ts'
import { openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

describe('allowances are exact at the edge (A29)', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  it.each([
    { requests: 19, status: 200, used: '0.199' },
    { requests: 20, status: 200, used: '0.20' },
    { requests: 21, status: 429, used: '0.18' },
  ])('with 20 left in a window, $requests give $status', async ({ requests, status, used }) => {
    const person = await openSubscriber(server(), 'pro')
    await spend(server(), person.builder, 180)
    expect((await spend(server(), person.builder, requests)).status).toBe(status)
    expect((await person.window('5h')).used).toBe(used)
    expect((await person.window('month')).used).toBe(used)
  })

  it.each([
    { requests: 199, code: undefined },
    { requests: 200, code: undefined },
    { requests: 201, code: 'request_exceeds_allowance' },
  ] as const)('with a window of 200, $requests at once get $code', async ({ requests, code }) => {
    const person = await openSubscriber(server(), 'pro')
    const answer = await spend(server(), person.builder, requests)
    if (code === undefined) expect(answer.status).toBe(200)
    else
      expectProblem(answer, code, { message: /whole 5h window of the plan has 0\.20 USD.*max_tokens to 200 or less/ })
  })

  it.each(['wallet', 'builder'] as const)('for the spend cap of a %s key too', async (kind) => {
    const person = await openSubscriber(server(), 'pro')
    for (const { requests, status } of [
      { requests: 9, status: 200 },
      { requests: 10, status: 200 },
      { requests: 11, status: 402 },
    ]) {
      const key = await person.createKey({ kind, caps: { day: '0.02' } })
      expect((await spend(server(), key, 10)).status).toBe(200)
      const answer = await spend(server(), key, requests)
      expect(answer.status).toBe(status)
      if (status !== 200)
        expectProblem(answer, 'key_spend_cap_reached', { message: /0\.02 USD a day; 0\.01 USD has been spent/ })
    }
  })

  it('reports the longest wait when several windows are full', async () => {
    const person = await openSubscriber(server(), 'lean')
    for (let window = 0; window < 5; window++) {
      expect((await spend(server(), person.builder, 100)).status).toBe(200)
      if (window < 4) server().advance(5 * 3_600_000)
    }
    const refused = await spend(server(), person.builder, 1)
    expectProblem(refused, 'allowance_exhausted')
    const month = await person.window('month')
    const fiveHours = await person.window('5h')
    const last = month.end! > fiveHours.end! ? month : fiveHours
    expect(refused.json.error).toMatchObject({ window: last.name, resets_at: Math.ceil(Date.parse(last.end!) / 1000) })
  })

  it('distinguishes held from used amounts, in windows and caps', async () => {
    const person = await openSubscriber(server(), 'pro')
    const capped = await person.createKey({ caps: { month: '0.10' } })
    for (const { key, words, most } of [
      { key: person.builder, words: /The allowance \(5h\) has .* free/, most: 200 },
      { key: capped, words: /The spend cap of this key \(month\) has .* free/, most: 100 },
    ]) {
      // Long enough to be running while the others ask, and dear enough to hold nearly everything.
      const running = await send(server(), key, {
        model: 'calm',
        stream: true,
        max_tokens: 8000,
        messages: hello('count to 2000'),
      })
      const refused = await spend(server(), key, most)
      expectProblem(refused, 'balance_in_flight', { message: words })
      await running.body?.cancel()
    }
  })
})

describe('a spend cap', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  it('stops one key only, until its day ends', async () => {
    const account = await openAccount(server())
    const capped = await account.createKey({ caps: { day: '0.05', month: '0.08' } })
    expect((await spend(server(), capped, 50)).status).toBe(200)
    const refused = await spend(server(), capped, 1)
    expectProblem(refused, 'key_spend_cap_reached', { message: /resets at .*T00:00:00\.000Z/ })
    expect(refused.json.error).toMatchObject({ window: 'day', limit: '0.05', used: '0.05' })
    expect(refused.json.error.resets_at % 86_400).toBe(0)
    expect((await spend(server(), account, 50)).status).toBe(200)

    server().advance(86_400_000)
    expect((await spend(server(), capped, 30)).status).toBe(200)
    const [day, month] = (await server().operate('keys.show', { key: capped.id })).spent
    expect(day).toMatchObject({ name: 'day', limit: '0.05', used: '0.03', left: '0.02' })
    // Where a month has just turned there is room again; otherwise the month is what is full.
    if (month?.used === '0.08') {
      const full = await spend(server(), capped, 1)
      expectProblem(full, 'key_spend_cap_reached')
      expect(full.json.error).toMatchObject({ window: 'month' })
    }
  })

  it('can be raised, lowered and removed at once; spending stays counted', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ caps: { day: '0.05' } })
    const caps = (change: { day?: string | null; month?: string | null }) =>
      server().operate('keys.caps', { key: key.id, ...change })
    const requests = async () => (await spend(server(), key, 20)).status
    expect([await requests(), await requests(), await requests()]).toEqual([200, 200, 402])
    expect((await caps({ day: '0.06' })).caps).toEqual({ day: '0.06' })
    expect([await requests(), await requests()]).toEqual([200, 402])
    await caps({ day: '0.01' })
    const { json } = await chat(server(), key, { model: 'paid', max_tokens: 1 })
    expect(json.error).toMatchObject({ code: 'key_spend_cap_reached', limit: '0.01', used: '0.06' })
    expect((await server().operate('keys.show', { key: key.id })).spent[0]).toMatchObject({
      used: '0.06',
      left: '0.00',
    })
    expect((await caps({ day: '0.08' })).caps).toEqual({ day: '0.08' })
    expect([await requests(), await requests()]).toEqual([200, 402])
    expect((await caps({ day: null })).caps).toEqual({})
    expect(await requests()).toBe(200)
    expect(await server().attempt('keys.caps', { key: key.id })).toMatchObject({ reason: 'invalid_arguments' })
    expect((await caps({ day: '1000000', month: '1000000.00' })).caps).toEqual({
      day: '1000000.00',
      month: '1000000.00',
    })
    expect(await requests()).toBe(200)
    for (const day of ['0', '-1', '1,00', '1e3', '1000000.000000001', '9000000000']) {
      expect(await server().attempt('keys.caps', { key: key.id, day })).toMatchObject({ reason: 'invalid_amount' })
    }
  })
})
