import { expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import type { Plan } from '../catalog/catalog.ts'
import { createKey } from './keys.ts'
import { assignPlan, endPlan } from './plans.ts'

const books = useTestLedger({ owners: ['ada'] })
const ADA = { account: 'ada@example.com' }
const PRO = { id: 'pro', models: ['demo'], windows: [quotaOf('day', { kind: 'day' }, 5n)] } as unknown as Plan

/** As when the disk fails behind the commit. */
function unheard(): typeof books.deps {
  const { ledger } = books.deps
  const lost = async (done: Promise<unknown>): Promise<never> => {
    await done
    throw new Error('no answer')
  }
  return {
    ...books.deps,
    catalog: () => ({ ...books.deps.catalog(), plans: new Map([['pro', PRO]]) }),
    ledger: {
      ...ledger,
      assignPlan: (order) => lost(ledger.assignPlan(order)),
      endPlan: (order) => lost(ledger.endPlan(order)),
    },
  }
}

it('a plan counts from the next request on, although nobody heard that it was assigned, and so does its end', async () => {
  const made = await createKey(books.deps, { ...ADA, kind: 'builder', name: 'ci' })
  if (made.kind === 'refused') throw new Error(made.message)
  const plan = async () => {
    const found = await books.finder.find(made.value.key)
    return found.kind === 'caller' ? found.caller.plan?.id : found.reason
  }
  expect(await plan()).toBeUndefined()
  await expect(assignPlan(unheard(), { ...ADA, plan: 'pro' })).rejects.toThrow('no answer')
  expect(await plan()).toBe('pro')
  await expect(endPlan(unheard(), ADA)).rejects.toThrow('no answer')
  expect(await plan()).toBeUndefined()
})
