import { beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { readStream } from '../../support/read-stream.ts'
import { get, hello, send } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber, spend } from '../../support/subscriber.ts'
import { nanoOf } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const HOUR_MS = 3_600_000

describe('plan changes', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  it('an upgrade applies at once; usage and windows continue', async () => {
    const person = await openSubscriber(server(), 'lean')
    expect((await spend(server(), person.builder, 100)).status).toBe(200)
    expectProblem(await spend(server(), person.builder, 1), 'allowance_exhausted')
    const before = await person.window('5h')
    const since = (await person.plan()).since
    const changed = await person.assign('pro')
    expect(changed).toMatchObject({ state: 'active', plan: 'pro', until: null })
    expect(changed.since! >= since!).toBe(true)
    expect(await person.window('5h')).toEqual({ ...before, limit: '0.20', left: '0.10' })
    expect((await person.window('month')).limit).toBe('1.00')
    expect((await spend(server(), person.builder, 100)).status).toBe(200)
    expectProblem(await spend(server(), person.builder, 1), 'allowance_exhausted')
  })

  it('a downgrade applies with the next window', async () => {
    const person = await openSubscriber(server(), 'pro')
    await spend(server(), person.builder, 10)
    await person.assign('lean')
    expect(await person.window('5h')).toMatchObject({ limit: '0.20', used: '0.01' })
    expect((await spend(server(), person.builder, 150)).status).toBe(200)
    server().advance(5 * HOUR_MS)
    expect(await person.window('5h')).toMatchObject({ limit: '0.10', used: '0.00', opened: false })
    expect((await spend(server(), person.builder, 60)).status).toBe(200)
    expect(await person.window('5h')).toMatchObject({ limit: '0.10', used: '0.06', opened: true })
  })

  it('no window of the former plan opens', async () => {
    const person = await openSubscriber(server(), 'pro')
    await person.assign('lean')
    expect(await person.window('5h')).toMatchObject({ limit: '0.10', opened: false })
    expect((await spend(server(), person.builder, 10)).status).toBe(200)
    expect((await person.window('5h')).limit).toBe('0.10')
  })

  it('a request uploading during the change uses the new plan', async () => {
    const person = await openSubscriber(server(), 'pro')
    const body = JSON.stringify({ model: 'paid', max_tokens: 1, messages: hello() })
    const socket = await openRawSocket(server())
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${person.builder.key}\r\nexpect: 100-continue\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
    )
    // The key has been looked at by now, and its plan with it.
    expect((await socket.answer()).status).toBe(100)
    await person.assign('lean')
    socket.write(body)
    expect((await socket.answer()).status).toBe(200)
    socket.destroy()
    expect((await person.plan()).windows.map(({ limit }) => limit)).toContain('0.10')
    expect(await person.window('5h')).toMatchObject({ limit: '0.10', used: '0.001' })
  })

  it('a reload keeps open windows; the next window is new', async () => {
    const person = await openSubscriber(server(), 'lean')
    expect((await spend(server(), person.builder, 10)).status).toBe(200)
    await server().reload(PLANS_CONFIG.replace('every: 5h, allowance: "0.10"', 'every: 5h, allowance: "0.30"'))
    expect(await person.window('5h')).toMatchObject({ limit: '0.10', used: '0.01' })
    expectProblem(await spend(server(), person.builder, 91), 'allowance_exhausted')
    server().advance(5 * HOUR_MS)
    expect((await spend(server(), person.builder, 250)).status).toBe(200)
    expect(await person.window('5h')).toMatchObject({ limit: '0.30', used: '0.25' })

    await server().reload(PLANS_CONFIG.replace('id: lean', 'id: leaner'))
    expect(await person.plan()).toMatchObject({ state: 'not_configured', plan: 'lean', windows: [] })
    expectProblem(await spend(server(), person.builder, 1), 'subscription_inactive')
    const { json } = await get(server(), person.builder, '/models')
    expect(json.data.length).toBeGreaterThan(1)
    await server().reload(PLANS_CONFIG)
    expect(await person.window('5h')).toMatchObject({ limit: '0.30', used: '0.25' })
  })

  it('a lapsed plan keeps its usage and resumes when assigned again', async () => {
    const person = await openSubscriber(server())
    const { until } = await person.assign('pro', '1h')
    expect(until).not.toBeNull()
    await spend(server(), person.builder, 150)
    expect((await get(server(), person.builder, '/key')).json.plan).toEqual({ id: 'pro', until })
    server().advance(HOUR_MS)
    expectProblem(await spend(server(), person.builder, 1), 'subscription_inactive')
    expect((await get(server(), person.builder, '/key')).json).toMatchObject({ plan: null, windows: [] })
    expect(await person.plan()).toMatchObject({ state: 'ended', plan: 'pro', until, windows: [] })
    expect(await server().attempt('plans.end', { account: person.id })).toMatchObject({ reason: 'no_subscription' })

    await person.assign('pro')
    expect(await person.window('5h')).toMatchObject({ used: '0.15', left: '0.05' })
    expectProblem(await spend(server(), person.builder, 51), 'allowance_exhausted')
    expect((await spend(server(), person.builder, 50)).status).toBe(200)
  })

  it('a plan ends now or at a set time; running answers finish', async () => {
    const person = await openSubscriber(server(), 'pro')
    const running = await send(server(), person.builder, {
      model: 'calm',
      stream: true,
      messages: hello('count to 10'),
    })
    expect(await person.end()).toMatchObject({ state: 'ended', plan: 'pro', windows: [] })
    expectProblem(await spend(server(), person.builder, 1), 'subscription_inactive')
    const finished = await readStream(running)
    expect(finished.done).toBe(true)
    expect((await person.receipts())[0]).toMatchObject({ state: 'settled', outcome: 'completed' })

    await person.assign('pro')
    expect(await person.end('2h')).toMatchObject({ state: 'active' })
    expect((await spend(server(), person.builder, 1)).status).toBe(200)
    // Assigned again without an end, it goes on after all.
    expect(await person.assign('pro')).toMatchObject({ state: 'active', until: null })
    server().advance(2 * HOUR_MS)
    expect((await spend(server(), person.builder, 1)).status).toBe(200)
  })

  it('a running answer settles in the window that held it, even after that window ends', async () => {
    const person = await openSubscriber(server(), 'pro')
    const running = await send(server(), person.builder, {
      model: 'calm',
      stream: true,
      stream_options: { include_usage: true },
      messages: hello('count to 40'),
    })
    const old = await person.window('5h')
    expect(nanoOf(old.held)).toBeGreaterThan(0n)
    server().advance(5 * HOUR_MS)
    expect((await spend(server(), person.builder, 200)).status).toBe(200)
    expect(await person.window('5h')).toMatchObject({ used: '0.20', held: '0.00' })
    const finished = await readStream(running)
    const charge = finished.chunks.at(-1).usage.millrace.charge
    expect(nanoOf(charge)).toBeGreaterThan(0n)
    expect(await person.window('5h')).toMatchObject({ used: '0.20', held: '0.00' })
    const receipt = (await get(server(), person.builder, `/requests/${finished.requestId}`)).json
    expect(receipt).toMatchObject({ outcome: 'completed', charge })
    expect(receipt.paid_by.windows[0]).toEqual({ name: '5h', start: old.start, end: old.end })

    // What was left of the old one expired when nothing held on it any more, and not before.
    const [first] = await server()
      .app.operations.db.selectFrom('buckets')
      .selectAll()
      .where('subject', '=', 'window:5h')
      .where('period_start', '=', Date.parse(old.start!))
      .execute()
    expect(first).toMatchObject({ posted_nano: 0n, held_nano: 0n })
    expect(first!.closed_at).toBe((await person.receipts())[0]!.closed_at)
  })
})

describe('an operator', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  it('sees the plans, who is on them, and what an account has', async () => {
    const person = await openSubscriber(server(), 'pro')
    const { items: plans } = await server().operate('plans.list', {})
    expect(plans.map(({ id, accounts }) => [id, accounts])).toEqual([
      ['lean', 0],
      ['pro', 1],
      ['wide', 0],
    ])
    expect(plans[1]).toMatchObject({
      opens: ['calm', 'paid', 'builder-only'],
      windows: [
        { name: '5h', allowance: '0.20' },
        { name: 'month', allowance: '1.00' },
      ],
    })
    const shown = await server().operate('accounts.show', { account: person.email })
    expect(shown.plan).toEqual({ state: 'active', plan: 'pro', until: null })
    const other = await openSubscriber(server())
    expect(await other.plan()).toMatchObject({ state: 'none', plan: null, windows: [] })
  })

  it('gets an explanation for invalid input', async () => {
    const person = await openSubscriber(server(), 'pro')
    const changeRequest = (args: object) =>
      server().attempt('plans.assign', { account: person.id, plan: 'pro', ...args })
    expect(await changeRequest({ plan: 'gold' })).toMatchObject({
      reason: 'plan_not_found',
      message: expect.stringMatching(/lean, pro, wide/),
    })
    expect(await changeRequest({ account: 'nobody@example.com' })).toMatchObject({ reason: 'account_not_found' })
    for (const until of ['yesterday', '2001-01-01', '0d', '']) {
      expect(await changeRequest({ until }), until).toMatchObject({ reason: 'invalid_expiry' })
    }
    expect(await server().attempt('plans.end', { account: person.id, at: '1999-01-01' })).toMatchObject({
      reason: 'invalid_expiry',
    })
    expect((await person.plan()).state).toBe('active')
  })
})
