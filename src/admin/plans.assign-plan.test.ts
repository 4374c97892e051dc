import { expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import type { Plan } from '../catalog/catalog.ts'
import { createKey } from './keys.ts'
import { assignPlan, endPlan } from './plans.ts'

const fixture = useTestLedger({ owners: ['ada'] })
const ADA = { account: 'ada@example.com' }
const PRO = { id: 'pro', models: ['demo'], windows: [quotaOf('day', { kind: 'day' }, 5n)] } as unknown as Plan

/** As when the disk fails after the commit. */
function withLostAnswers(): typeof fixture.services {
  const { ledger } = fixture.services
  const lost = async (done: Promise<unknown>): Promise<never> => {
    await done
    throw new Error('no answer')
  }
  return {
    ...fixture.services,
    catalog: () => ({ ...fixture.services.catalog(), plans: new Map([['pro', PRO]]) }),
    ledger: {
      ...ledger,
      assignPlan: (order) => lost(ledger.assignPlan(order)),
      endPlan: (order) => lost(ledger.endPlan(order)),
    },
  }
}

it('a plan and its end apply from the next request on, even if the answer is lost', async () => {
  const made = await createKey(fixture.services, { ...ADA, kind: 'builder', name: 'ci' })
  if (made.kind === 'refused') throw new Error(made.message)
  const plan = async () => {
    const found = await fixture.callers.find(made.value.key)
    return found.kind === 'caller' ? found.caller.plan?.id : found.reason
  }
  expect(await plan()).toBeUndefined()
  await expect(assignPlan(withLostAnswers(), { ...ADA, plan: 'pro' })).rejects.toThrow('no answer')
  expect(await plan()).toBe('pro')
  await expect(endPlan(withLostAnswers(), ADA)).rejects.toThrow('no answer')
  expect(await plan()).toBeUndefined()
})
