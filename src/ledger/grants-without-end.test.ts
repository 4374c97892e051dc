import { expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import { settlement } from '../../test/fixtures/model/ending.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { KeyRow } from '../model/ids.ts'
import { NANO_MAX } from '../model/money.ts'

const bench = useLedger()

/** Of the largest amount that the configuration takes: two would not fit into a number of 64 bits together. */
const GRANTS = Number(process.env.MILLRACE_GRANTS ?? 600)
const HOUR_MS = 3_600_000
const windows = [quotaOf('5h', { kind: 'anchored', ms: 5 * HOUR_MS }, NANO_MAX)]

it('any number of the largest allowances, by windows and by keys that are made, used and revoked, break nothing', async () => {
  await bench.credit(HOLD * 100n)
  await bench.ledger.assignPlan({ account: bench.account, plan: 'builder', windows, endsAt: undefined })
  for (let grant = 0; grant < GRANTS; grant++) {
    const key = (100 + grant) as KeyRow
    const caps = allowancesOfCaps(key, { day: NANO_MAX, month: NANO_MAX })
    const ofPlan = await bench.admit({ key, kind: 'builder', plan: 'builder', allowances: [...windows, ...caps] })
    expect(await ofPlan.settle(settlement(1n))).toMatchObject({ kind: 'settled', charge: 1n })
    // Behind the window: the next request opens one more.
    bench.clock.aheadMs += 5 * HOUR_MS + 60_000
    if (grant % 100 === 0)
      expect(await bench.admit().then((turn) => turn.settle(settlement(1n)))).toMatchObject({ charge: 1n })
    if (grant % 500 === 0) await bench.ledger.sweep()
  }
  expect(bench.failures).toEqual([])
  const report = await bench.ledger.audit({ whole: true })
  expect(report).toMatchObject({ ok: true, violations: 0, transfers: 2 * GRANTS })
  expect(report.sums).toEqual({
    usd: { issued: `${HOLD * 100n}`, used: `${Math.ceil(GRANTS / 100)}` },
    quota: {
      issued: `${NANO_MAX * BigInt(GRANTS)}`,
      used: `${GRANTS}`,
      // All but the window that is in force.
      expired: `${(NANO_MAX - 1n) * BigInt(GRANTS - 1)}`,
    },
  })
  console.info(
    `grants of ${NANO_MAX}: ${GRANTS} by windows, ${2 * GRANTS} spend caps; issued ${report.sums?.quota.issued}`,
  )
}, 3_600_000)
