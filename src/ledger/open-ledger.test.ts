import { expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import { settlement } from '../../test/fixtures/model/ending.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { KeyRow } from '../model/ids.ts'

const bench = useLedger()

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const windows = [
  quotaOf('5h', { kind: 'anchored', ms: 5 * HOUR_MS }, HOLD * 9n),
  quotaOf('month', { kind: 'month', day: 'billing' }, HOLD * 9n),
]
const ofPlan = { kind: 'builder', plan: 'builder', allowances: windows } as const
const caps = (key: number) => allowancesOfCaps(key as KeyRow, { day: HOLD * 9n, month: HOLD * 9n })

const subscribe = () => bench.ledger.assignPlan({ account: bench.account, plan: 'builder', windows, endsAt: undefined })
const liveWindows = () =>
  bench.database.file.all(`SELECT subject FROM buckets WHERE kind = 'window' AND closed_at IS NULL ORDER BY row`, [])
const counters = () => bench.database.file.all('SELECT subject FROM spend_counters ORDER BY subject', [])

it('windows that ended long ago are closed on an account that is not used any more', async () => {
  await subscribe()
  await (await bench.admit(ofPlan)).settle(settlement(5n))
  bench.clock.aheadMs = 20 * DAY_MS
  await bench.ledger.sweep()
  expect(await liveWindows()).toHaveLength(2)
  bench.clock.aheadMs = 33 * DAY_MS
  await bench.ledger.sweep()
  expect(await liveWindows()).toEqual([{ subject: 'window:month' }])
  // Also those of an account that is not in memory.
  await bench.reopen()
  bench.clock.aheadMs = 70 * DAY_MS
  await bench.ledger.sweep()
  expect(await liveWindows()).toEqual([])
  const { report, rest } = { report: await bench.ledger.audit({ whole: true }), rest: HOLD * 9n - 5n }
  expect(report).toMatchObject({ ok: true })
  expect(report.sums?.quota).toEqual({ issued: `${HOLD * 18n}`, used: '10', expired: `${rest * 2n}` })

  await (await bench.admit(ofPlan)).settle(settlement(7n))
  expect(await liveWindows()).toHaveLength(2)
  await bench.expectBalancedLedger()
})

it('a window on which a turn still holds is not closed under it', async () => {
  await subscribe()
  const turn = await bench.admit(ofPlan)
  await turn.durable
  bench.clock.aheadMs = 70 * DAY_MS
  await bench.ledger.sweep()
  expect(await liveWindows()).toHaveLength(2)
  expect(await turn.settle(settlement(5n))).toMatchObject({ kind: 'settled' })
  turn.detach()
  await bench.ledger.sweep()
  expect(await liveWindows()).toEqual([])
  await bench.expectBalancedLedger()
})

it('counters of spend caps go a day behind their period, and come again with the next use', async () => {
  await bench.credit(HOLD * 100n)
  // Somewhere in a month, so that its end is weeks away.
  bench.clock.aheadMs = Date.UTC(2030, 4, 10, 12) - Date.now()
  await (await bench.admit({ allowances: caps(1) })).settle(settlement(5n))
  const held = await bench.admit({ key: 2 as KeyRow, allowances: caps(2) })
  await held.durable
  bench.clock.aheadMs += DAY_MS
  await bench.ledger.sweep()
  expect(await counters()).toHaveLength(4)
  bench.clock.aheadMs += DAY_MS
  await bench.ledger.sweep()
  expect((await counters()).map(({ subject }) => subject)).toEqual(['cap:1:month', 'cap:2:day', 'cap:2:month'])

  await (await bench.admit({ allowances: caps(1) })).settle(settlement(6n))
  await held.settle(settlement(7n))
  await bench.expectBalancedLedger()
  const spent = `SELECT subject, spent_nano FROM spend_counters WHERE account = ${bench.account} ORDER BY subject`
  expect(await bench.database.file.all(spent, [])).toEqual([
    { subject: 'cap:1:day', spent_nano: 6n },
    { subject: 'cap:1:month', spent_nano: 11n },
    { subject: 'cap:2:day', spent_nano: 7n },
    { subject: 'cap:2:month', spent_nano: 7n },
  ])
  bench.clock.aheadMs += 40 * DAY_MS
  await bench.ledger.sweep()
  expect(await counters()).toEqual([])
  await bench.reopen()
  await (await bench.admit({ allowances: caps(1) })).settle(settlement(8n))
  await bench.expectBalancedLedger()
})
