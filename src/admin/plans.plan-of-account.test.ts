import { beforeEach, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { findAccountByEmail } from '../db/accounts.ts'
import { createSteadyClock, systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { type AccountRow, mintAccountId } from '../model/ids.ts'
import { planOfAccount } from './plans.ts'

let account: AccountRow
const set = { backMs: 0 }

beforeEach(() => {
  set.backMs = 0
})
const machine = { ...systemClock, now: () => systemClock.now() - set.backMs }
const fixture = useTestLedger({ clock: createSteadyClock(machine, { floorMs: 0, onEvent: () => {} }) })

beforeEach(async () => {
  const { db, file } = fixture.database
  await insertAccount(file, { id: mintAccountId(secureRandom), email: 'a@example.com', createdAt: 1 })
  account = (await findAccountByEmail(db, 'a@example.com'))?.row as AccountRow
})

it('an ended plan stays ended when the clock is set back', async () => {
  const plan = async () => (await planOfAccount(fixture.services, account)).state
  expect(await plan()).toBe('none')
  await fixture.ledger.assignPlan({ account, plan: 'basic', windows: [], endsAt: undefined })
  expect(await plan()).toBe('not_configured')
  await fixture.ledger.endPlan({ account })
  expect(await plan()).toBe('ended')
  set.backMs = 3_600_000
  expect(await plan()).toBe('ended')
})
