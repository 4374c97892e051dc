import { expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import type { Clock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { createLaneWatch, createNoticeWatch } from './watch.ts'

const DAY = 86_400_000
const MINUTE = 60_000
const START = Date.UTC(2026, 10, 2, 12)
let now = START
const clock: Clock = { now: () => now, nowMicros: () => now * 1000 }
const fixture = useTestLedger({ clock, owners: ['ann'] })

const servicesOf = () => ({
  ...{ db: fixture.database.db, file: fixture.database.file, clock, random: secureRandom },
  ...{ sendsMail: () => false, onQueued: () => {} },
})
const run = (sql: string) => fixture.database.file.atomic([{ sql, rows: [[]] }])
const told = async () =>
  (await fixture.database.file.all('SELECT event, account, facts FROM notices ORDER BY row', [])).map((row) => [
    row.event,
    row.account,
    JSON.parse(String(row.facts)),
  ])

const addKey = (id: string, days: number, made = START) =>
  run(`INSERT INTO keys (id, account, kind, name, digest, shown, created_at, expires_at)
    VALUES ('${id}', 1, 'wallet', '${id}', x'${Buffer.from(id.padEnd(32, '0')).toString('hex')}', 'mr_', ${made}, ${START + days * DAY})`)

it('tells of keys before they expire, once, by how long they were made for', async () => {
  now = START
  const watch = createNoticeWatch(servicesOf())
  await addKey('long', 90)
  await addKey('week', 7)
  await addKey('hours', 0.5)
  await watch.sweep()
  expect(await told()).toEqual([])
  now = START + 6.5 * DAY
  await watch.sweep()
  await watch.sweep()
  expect((await told()).map(([event, , facts]) => [event, facts.key])).toEqual([['key.expiring', 'week']])
  now = START + 84 * DAY
  await Promise.all([watch.sweep(), createNoticeWatch(servicesOf()).sweep()])
  expect((await told()).map(([, , facts]) => facts.key)).toEqual(['week', 'long'])
  await run(`UPDATE keys SET expires_at = ${START + 120 * DAY} WHERE id = 'long'`)
  now = START + 115 * DAY
  await watch.sweep()
  expect((await told()).map(([, , facts]) => facts.key)).toEqual(['week', 'long', 'long'])
})

it('tells of plans that have ended or begun a further month, and not of those that others follow', async () => {
  now = START
  const watch = createNoticeWatch(servicesOf())
  const subscribe = (plan: string, started: number, ends: number | null) =>
    run(
      `INSERT INTO subscriptions (account, plan, billing_day, started_at, ends_at) VALUES (1, '${plan}', 5, ${started}, ${ends})`,
    )
  await subscribe('free', START - 50 * DAY, START - DAY)
  await subscribe('pro', START - DAY, null)
  await watch.sweep()
  await watch.examineAll()
  expect(await told()).toEqual([])
  now = Date.UTC(2026, 11, 5, 3)
  await watch.examineAll()
  await watch.examineAll()
  expect(await told()).toEqual([
    ['plan.renewed', 1, { plan: 'pro', at: '2026-12-05T00:00:00.000Z', next_at: '2027-01-05T00:00:00.000Z' }],
  ])
  await run(`UPDATE subscriptions SET ends_at = ${now} WHERE plan = 'pro'`)
  now += MINUTE
  await watch.sweep()
  await watch.sweep()
  expect((await told()).map(([event, , facts]) => [event, facts.plan])).toEqual([
    ['plan.renewed', 'pro'],
    ['plan.ended', 'pro'],
  ])
})

it('tells operators of charges above the hold, once an account and day', async () => {
  now = START
  const watch = createNoticeWatch(servicesOf())
  await addKey('key', 1)
  const close = (id: string, at: number) =>
    run(`INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
      output_cap, output_bound, input_estimate, opened_at, closed_at, cost_nano, charge_nano, shortfall_nano)
      VALUES ((SELECT COUNT(*) + 1 FROM receipts), '${id}', 1, 1, 'wallet', 'settled', 'demo', 1, '[3]', 5, 1, 1, 1, ${at}, ${at}, 9, 5, 4)`)
  await close('req_old', START - 3 * DAY)
  await close('req_one', START - 2 * MINUTE)
  await close('req_two', START - MINUTE)
  await watch.sweep()
  await watch.sweep()
  expect(await told()).toEqual([
    ['shortfall.charged', null, expect.objectContaining({ request: 'req_two', amount: '0.000000004' })],
  ])
})

it('tells of a lane that stays down, and when it is back, once for several nodes', async () => {
  now = START
  let open: { lane: string; reason: string }[] = []
  const watchOf = () => createLaneWatch({ services: servicesOf(), nowMicros: clock.nowMicros, listOpen: () => open })
  const [one, other] = [watchOf(), watchOf()]
  const look = async (ms: number) => {
    now += ms
    await Promise.all([one.look(), other.look()])
  }
  open = [{ lane: 'demo/a', reason: 'failing' }]
  await look(0)
  await look(5 * MINUTE)
  open = []
  await look(MINUTE)
  expect(await told()).toEqual([])
  for (let outage = 0; outage < 2; outage++) {
    open = [{ lane: 'demo/a', reason: 'failing' }]
    await look(MINUTE)
    await look(10 * MINUTE)
    await look(MINUTE)
    open = []
    await look(MINUTE)
    await look(MINUTE)
  }
  expect((await told()).map(([event, , { lane }]) => [event, lane])).toEqual([
    ['lane.down', 'demo/a'],
    ['lane.up', 'demo/a'],
    ['lane.down', 'demo/a'],
    ['lane.up', 'demo/a'],
  ])
})

it('tells of a lane that is down again after a process has ended during an outage', async () => {
  now = START
  const open = [{ lane: 'demo/a', reason: 'failing' }]
  const goDown = async () => {
    const watch = createLaneWatch({ services: servicesOf(), nowMicros: clock.nowMicros, listOpen: () => open })
    await watch.look()
    now += 11 * MINUTE
    await watch.look()
    await watch.look()
  }
  await goDown()
  // A restart in the same outage.
  await goDown()
  expect(await told()).toHaveLength(1)
  now += DAY
  await goDown()
  expect((await told()).map(([event]) => event)).toEqual(['lane.down', 'lane.down'])
})
