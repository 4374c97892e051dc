import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { systemClock } from '../lib/clock.ts'
import { type Allowance, allowancesOfCaps, type Cycle, type Period } from '../model/allowance.ts'
import type { KeyRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const window = (name: string, cycle: Cycle, holds: bigint) => quotaOf(name, cycle, HOLD * holds)
const SMALL = [
  window('5h', { kind: 'anchored', ms: 5 * HOUR }, 6n),
  window('week', { kind: 'week' }, 20n),
  window('month', { kind: 'month', day: 'billing' }, 60n),
]
const LARGE = SMALL.map((allowance) => ({ ...allowance, amount: (allowance.amount * 3n) as NanoUsd }))
const CAPS = allowancesOfCaps(1 as KeyRow, { day: HOLD * 9n, month: HOLD * 90n })

interface PeriodRow {
  readonly row: number
  readonly subject: string
  readonly period_start: number
  readonly period_end: number
  readonly closed_at: number | null
  readonly granted_nano: bigint
  readonly expired_nano: bigint
  readonly posted_nano: bigint
  readonly charged_nano: bigint
}

// What was put in, what expired, and what the receipts that were settled on it add up to: each from other rows.
const PERIODS = `
  SELECT row, subject, period_start, period_end, closed_at, posted_nano,
    (SELECT COALESCE(SUM(delta_nano), 0) FROM entries JOIN transfers ON transfers.row = transfer
      WHERE bucket = buckets.row AND kind = 'grant') AS granted_nano,
    (SELECT COALESCE(-SUM(delta_nano), 0) FROM entries JOIN transfers ON transfers.row = transfer
      WHERE bucket = buckets.row AND kind = 'expiry') AS expired_nano,
    (SELECT COALESCE(SUM(charge_nano), 0) FROM receipts
      WHERE EXISTS (SELECT 1 FROM json_each(receipts.buckets) WHERE value = buckets.row)) AS charged_nano
  FROM buckets WHERE kind = 'window' ORDER BY subject, period_start, row`

describe('a year of a plan in the file', () => {
  const bench = useLedger()

  it('adds up from its rows: over month ends and a leap day, clocks that jump, and processes that die', async () => {
    const seed = randomInt(2 ** 31)
    const next = randomFrom(seed)
    const counts = { admitted: 0, refused: 0, settled: 0, released: 0, restarts: 0, changes: 0, setBack: 0 }
    // The last day of a month, in the winter before a February of 29 days.
    bench.clock.aheadMs = Date.UTC(2027, 11, 31, 12) - systemClock.now()
    const until = Date.UTC(2029, 0, 5)
    const { account } = bench
    await bench.credit(HOLD * 100n)
    let plan = { id: 'small', windows: SMALL }
    const assign = () => bench.ledger.assignPlan({ account, plan: plan.id, windows: plan.windows, endsAt: undefined })
    await assign()
    const allowances = () => [...plan.windows, ...CAPS]
    let open: Awaited<ReturnType<typeof bench.admit>>[] = []

    const admitSome = async () => {
      const asked = Array.from({ length: 1 + next(6) }, () =>
        bench.admit({ kind: 'builder', plan: plan.id, allowances: allowances() }).catch(() => undefined),
      )
      const turns = (await Promise.all(asked)).flatMap((turn) => turn ?? [])
      counts.admitted += turns.length
      counts.refused += asked.length - turns.length
      open.push(...turns)
    }
    const endSome = async () => {
      const ending = open.filter(() => next(4) !== 0)
      open = open.filter((turn) => !ending.includes(turn))
      await Promise.all(
        ending.map((turn) => {
          const free = next(5) === 0
          counts[free ? 'released' : 'settled']++
          const how = settlement(BigInt(next(Number(HOLD) + 1)))
          return turn.settle(free ? GIVEN_BACK : how).finally(() => turn.detach())
        }),
      )
    }
    const changePlan = async () => {
      counts.changes++
      if (next(3) === 0) await bench.ledger.endPlan({ account })
      plan = plan.id === 'small' ? { id: 'large', windows: LARGE } : { id: 'small', windows: SMALL }
      await assign()
    }
    const die = async () => {
      counts.restarts++
      for (const turn of open) turn.detach()
      open = []
      await bench.reopen()
    }
    const passTime = () => {
      if (next(12) === 0) {
        counts.setBack++
        bench.clock.aheadMs -= next(2 * DAY)
      } else bench.clock.aheadMs += next(3) === 0 ? next(9 * DAY) : next(8 * HOUR)
    }

    for (let round = 1; systemClock.now() + bench.clock.aheadMs < until; round++) {
      await admitSome()
      passTime()
      await endSome()
      if (next(12) === 0) await changePlan()
      if (next(60) === 0) await die()
      if (round % 20 === 0) await expectBarsAreRows(allowances())
    }
    await die()
    await expectBarsAreRows(allowances())
    expect((await bench.ledger.accountStatus(account)).balance, 'nothing of it came out of the wallet').toBe(
      HOLD * 100n,
    )
    const periods = await readPeriods()
    expectNoOverlap(periods)
    await bench.expectBalancedLedger()
    console.log(`a year in the file: seed ${seed}, ${JSON.stringify({ ...counts, periods: periods.length })}`)
    for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(0)
  }, 120_000)

  const readPeriods = () => bench.database.file.all<PeriodRow>(PERIODS, [])

  /** Of the key that all of them came with. */
  const chargedUnder = async (subject: string, { start }: Period) => {
    const [sum] = await bench.database.file.all<{ sum_nano: bigint | null }>(
      `SELECT SUM(charge_nano) AS sum_nano FROM receipts JOIN spend_counters ON subject = ? AND period_start = ?
        WHERE subject IN (SELECT 'cap:' || receipts.key || ':' || value FROM json_each('["' || replace(caps, ' ', '","') || '"]'))
          AND receipts.row >= first_receipt`,
      [subject, start],
    )
    return sum?.sum_nano ?? 0n
  }

  /** What a person is shown is, to the last unit, what the receipts of that window add up to. */
  async function expectBarsAreRows(allowances: readonly Allowance[]): Promise<void> {
    const { statuses } = await bench.ledger.allowanceStatuses(bench.account, allowances)
    const periods = await readPeriods()
    for (const { allowance, period, granted, posted, running } of statuses) {
      const row = running && periods.find((each) => each.row === running.row)
      const charged = allowance.unit === 'cap' ? await chargedUnder(allowance.subject, period) : row?.charged_nano
      expect(granted - posted, allowance.subject).toBe(charged ?? 0n)
    }
    for (const period of periods) {
      const { granted_nano, expired_nano, charged_nano, posted_nano } = period
      expect(granted_nano - expired_nano - charged_nano, period.subject).toBe(posted_nano)
      if (period.closed_at !== null) expect(posted_nano).toBe(0n)
    }
  }
})

/** An unused one counts as unopened. */
function expectNoOverlap(periods: readonly PeriodRow[]): void {
  const used = periods.filter(({ charged_nano }) => charged_nano > 0n)
  for (const [index, next] of used.entries()) {
    const before = used[index - 1]
    if (before?.subject === next.subject) expect(next.period_start).toBeGreaterThanOrEqual(before.period_end)
  }
}
