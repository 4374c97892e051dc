import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runMain } from '../../src/app/run-main.ts'
import { createTestTerminal } from '../fixtures/cli/terminal.ts'
import { type ConsolePerson, openBrowser, signUp } from '../support/console-session.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, get, hello, send } from '../support/send-chat.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openSubscriber, type Subscriber, spend } from '../support/subscriber.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { expectBalancedLedger } from '../support/use-server.ts'

const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000
const JUMP = 400 * DAY
/** In 2027: short, so that the day does not end in a test. */
const LIVED = 5 * MINUTE

let folder: string
let server: TestServer

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-jump-'))
  server = await start()
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** The server that runs at the moment, for people who outlive a restart. */
const current = new Proxy({} as TestServer, { get: (_, name) => Reflect.get(server, name) })

/** The same browser, which has learned the address of the server that was started again. */
const backAt = ({ email, cookie, csrf }: ConsolePerson): ConsolePerson =>
  Object.assign(openBrowser(server, email), { cookie, csrf })

/** Past the end of a day that would end during a test. */
const untilMidnight = DAY - (Date.now() % DAY)
const dayEndsSoon = untilMidnight < 25 * MINUTE
const pastMidnight = dayEndsSoon ? untilMidnight + MINUTE : 0

/** Time passes by `advance` and `step` only. */
const start = (stepped = 0) =>
  startServer({ folder, config: PLANS_CONFIG, clock: 'still', stepped: pastMidnight + stepped })

async function restart(stepped: number): Promise<void> {
  await server.close()
  server = await start(stepped)
}

const now = () => server.app.operations.clock.now()
const clock = () => server.operate('db.clock', {})
const keyed = (who: { key: string }, name: string) =>
  chat(server, who, { model: 'paid', max_tokens: 5 }, { headers: { 'idempotency-key': name } })

/** The five-hour window of `pro` is used up, and a key has spent from its cap of a day. */
async function useUp(): Promise<{ person: Subscriber; capped: { id: string; key: string } }> {
  const person = await openSubscriber(current, 'pro')
  const capped = await person.createKey({ caps: { day: '0.05', month: '0.08' }, expires: '30d' })
  for (let turn = 0; turn < 4; turn++) expect((await spend(server, person.builder, 50)).status).toBe(200)
  expect((await spend(server, capped, 50)).status).toBe(200)
  return { person, capped }
}

const capsOf = async ({ id }: { id: string }) =>
  (await server.operate('keys.show', { key: id })).spent.map(({ name, left, start: from, end }) => ({
    ...{ name, left, from: Date.parse(from!), end: Date.parse(end!) },
  }))

/** Jumps, is followed, and goes on in 2027 for an hour. */
async function liveInTheFuture(): Promise<void> {
  server.step(JUMP)
  now()
  server.advance(5 * MINUTE)
  expect((await clock()).state).toBe('together')
}

describe('a wall clock that jumps 400 days', () => {
  it('renews no window or cap and expires no key, session or kept answer until the jump has held for five minutes', async () => {
    const { person, capped } = await useUp()
    const owner = await signUp(server, { email: 'owner@walk.example', account: person.id })
    const first = await keyed(person, 'once')
    expect(first.status).toBe(200)
    const before = { caps: await capsOf(capped), window: await person.window('5h') }
    server.step(JUMP)
    for (const passed of [0, 4 * MINUTE]) {
      server.advance(passed)
      expectProblem(await spend(server, person.builder, 1), 'allowance_exhausted')
      expectProblem(await spend(server, capped, 1), 'key_spend_cap_reached')
      expect({ caps: await capsOf(capped), window: await person.window('5h') }).toEqual(before)
      const again = await keyed(person, 'once')
      expect([again.status, again.json]).toEqual([200, first.json])
      expect((await owner.send('GET /session')).status).toBe(200)
      expect(await clock()).toMatchObject({ state: 'step', follows_in_seconds: 300 - passed / 1000, ahead: [] })
    }
    server.step(-JUMP)
    expect(await clock()).toMatchObject({ state: 'together', follows_in_seconds: null })
    server.advance(10 * MINUTE)
    expectProblem(await spend(server, person.builder, 1), 'allowance_exhausted')
    await expectBalancedLedger(server)
  })

  it('is followed after it has held, or at once when an operator confirms it; the audit log records that', async () => {
    const { person } = await useUp()
    server.step(JUMP)
    expect((await server.operate('db.clock.follow', {})).did).toBe('follow')
    expect((await clock()).state).toBe('together')
    expect((await spend(server, person.builder, 50)).status).toBe(200)
    const actions = await server.app.operations.db.selectFrom('audit').select(['action', 'actor']).execute()
    expect(actions.at(-1)).toEqual({ action: 'clock_followed', actor: 'operator' })
    expect((await server.operate('db.clock.follow', {})).did).toBe('nothing')
  })
})

describe('time recorded under a clock of 2027', () => {
  for (const how of ['in the running server', 'without a server'] as const) {
    // The command reads the clock of the machine, which cannot be put past midnight.
    it.skipIf(dayEndsSoon && how === 'without a server')(
      `is set back ${how}: windows, caps, claims and sessions count from now; amounts and receipts stay`,
      async () => {
        const { person, capped } = await useUp()
        await liveInTheFuture()
        const trueNow = now() - JUMP
        // Keys of before have expired by that clock, and what is made now begins in 2027.
        expect((await spend(server, capped, 1)).status).toBe(401)
        const late = await openSubscriber(current, 'pro')
        const lateCapped = await late.createKey({ caps: { day: '0.05', month: '0.08' } })
        for (const who of [person, late]) expect((await spend(server, who.builder, 150)).status).toBe(200)
        expect((await spend(server, lateCapped, 50)).status).toBe(200)
        const kept = await keyed(late, 'in-2027')
        expect(kept.status).toBe(200)
        const lateOwner = await signUp(server, { email: 'late@walk.example', account: late.id })
        await server.operate('keys.rotate', { key: lateCapped.id, grace: '7d' })
        server.advance(LIVED)
        const receipts = await late.receipts()
        const balances = [await person.wallet(), await late.wallet()]

        // The administrator corrects the clock. Ledger time stays ahead, over a restart too: this was permanent once.
        await restart(LIVED + 10 * MINUTE)
        expect(await clock()).toMatchObject({ state: 'ahead', did: 'show' })
        expect(Date.parse((await late.window('5h')).start!)).toBeGreaterThan(trueNow + JUMP - DAY)
        const report = await clock()
        const counts = Object.fromEntries(report.ahead.map(({ what, count }) => [what, count]))
        expect(counts).toMatchObject({
          ...{
            windows: 4,
            caps: 2,
            subscriptions: 1,
            sessions: 1,
            idempotency_keys: 1,
            kept_answers: 1,
            rotated_keys: 1,
          },
        })

        if (how === 'in the running server') {
          expect(await server.operate('db.clock.set-back', {})).toMatchObject({ did: 'set-back', state: 'together' })
        } else {
          await server.close()
          const terminal = createTestTerminal()
          const stageContext = {
            environment: { HOME: folder },
            program: 'millrace',
            cwd: folder,
            terminal,
            faults: { take: () => () => {} },
            endServer() {},
          }
          expect(await runMain(stageContext, ['db', 'clock', '--set-back', '--json', '--data', folder])).toBe(0)
          expect(JSON.parse(terminal.emitted.out)).toMatchObject({ did: 'set-back', state: 'together' })
          server = await start(LIVED + 10 * MINUTE)
        }
        const around = now()
        expect(Math.abs(around - trueNow)).toBeLessThan(2 * HOUR)
        expect(await clock()).toMatchObject({ state: 'together', ahead: [] })

        // Windows that run now, with what was used of them.
        for (const [who, used] of [
          [person, '0.15'],
          [late, '0.15'],
        ] as const) {
          const window = await who.window('5h')
          expect(window.used).toBe(used)
          expect(Date.parse(window.start!)).toBeLessThanOrEqual(around)
          expect(Date.parse(window.end!)).toBeGreaterThan(around)
          expect(Date.parse(window.end!)).toBeLessThanOrEqual(around + 5 * HOUR)
          const month = await who.window('month')
          expect(Date.parse(month.start!)).toBeLessThanOrEqual(around)
          expect(Date.parse(month.end!) - around).toBeLessThanOrEqual(31 * DAY)
        }
        expect((await spend(server, late.builder, 50)).status).toBe(200)
        expectProblem(await spend(server, late.builder, 1), 'allowance_exhausted')
        for (const { name, left, from, end } of await capsOf(lateCapped)) {
          expect([name, left]).toEqual(name === 'day' ? ['day', '0.00'] : ['month', '0.03'])
          expect(new Date(around).toISOString().slice(0, name === 'day' ? 10 : 7)).toBe(
            new Date(from).toISOString().slice(0, name === 'day' ? 10 : 7),
          )
          expect(end - from).toBeLessThanOrEqual(31 * DAY)
        }
        // The key that had expired works again, the former secret for a week and no longer, the answer for a day.
        expectProblem(await spend(server, capped, 1), 'key_spend_cap_reached')
        expect((await get(server, lateCapped, '/key')).status).toBe(200)
        expect((await keyed(late, 'in-2027')).json).toEqual(kept.json)
        // Which of the older sessions the sweep has taken by then is not said; the one of 2027 goes on.
        expect((await backAt(lateOwner).send('GET /session')).status).toBe(200)

        // Nothing that is closed has changed, and the books hold.
        expect((await late.receipts()).slice(0, receipts.length)).toEqual(receipts)
        expect([await person.wallet(), await late.wallet()]).toEqual(balances)
        await expectBalancedLedger(server)
        expect((await server.operate('db.verify', {})).ok).toBe(true)

        // What is recorded from now on has the right time, is found by its day, and a restart stays there.
        await server.operate('wallet.credit', { account: late.id, amount: '1.00', reason: 'now', ref: 'now' })
        const [today, tomorrow] = [around, around + DAY].map((ms) => new Date(ms).toISOString().slice(0, 10)) as [
          string,
          string,
        ]
        const { items } = await backAt(lateOwner).call('GET /wallet/statement', {
          query: { from: today, to: tomorrow, zone: 'UTC' },
        })
        expect(items.map(({ ref }) => ref)).toContain('now')
        server.advance(25 * HOUR)
        expect((await keyed(late, 'in-2027')).json.id).not.toBe(kept.json.id)
        server.advance(7 * DAY)
        expect((await get(server, lateCapped, '/key')).status).toBe(401)
        await restart(HOUR + 10 * MINUTE + 25 * HOUR + 7 * DAY)
        expect(await clock()).toMatchObject({ state: 'together' })
        expect(Math.abs(now() - around - 25 * HOUR - 7 * DAY)).toBeLessThan(HOUR)
        const actions = await server.app.operations.db.selectFrom('audit').select(['action', 'detail']).execute()
        expect(actions.find(({ action }) => action === 'clock_set_back')!.detail).toMatch(/windows.*caps/)
      },
    )
  }

  it('is set back while a stream runs; the stream ends and is charged once', async () => {
    const { person } = await useUp()
    await liveInTheFuture()
    const answer = await send(server, person, { model: 'calm', stream: true, messages: hello('count to 50') })
    const reader = answer.body!.getReader()
    await reader.read()
    server.step(-JUMP)
    const before = await person.wallet()
    expect(before.held).toBeGreaterThan(0n)
    const { did, ahead } = await server.operate('db.clock.set-back', {})
    expect(did).toBe('set-back')
    expect(ahead).toContainEqual({ what: 'running_requests', count: 1 })
    let text = ''
    for (let read = await reader.read(); !read.done; read = await reader.read())
      text += Buffer.from(read.value).toString()
    expect(text).toMatch(/\[DONE\]\s*$/)
    await expectBalancedLedger(server)
    const last = (await person.receipts()).at(-1)!
    expect(last).toMatchObject({ state: 'settled', outcome: 'completed' })
    expect(last.closed_at! - last.opened_at).toBeGreaterThanOrEqual(0)
    expect((await person.wallet()).balance).toBe(before.balance - last.charge_nano!)
  })

  it('is not set back when the clocks agree, and nothing is written', async () => {
    expect(await server.operate('db.clock.set-back', {})).toMatchObject({ did: 'nothing', state: 'together' })
    expect(await server.app.operations.db.selectFrom('clock_corrections').selectAll().execute()).toEqual([])
  })
})
