import { z } from 'zod'
import type { Catalog } from '../catalog/catalog.ts'
import type { Clock } from '../lib/clock.ts'
import { countRunningPlans } from '../store/subscriptions.ts'
import type { LedgerDb } from '../store/tables.ts'
import { done, type Outcome } from './outcome.ts'
import { type PlanView, planView } from './plan-view.ts'

export const listPlansArgs = z.strictObject({})

export interface PlanWithAccounts extends PlanView {
  /** How many accounts are on it now. */
  readonly accounts: number
}

interface ListPlansDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly catalog: () => Catalog
}

/** The plans of the configuration. */
export async function listPlans(deps: ListPlansDeps): Promise<Outcome<{ plans: PlanWithAccounts[] }>> {
  const catalog = deps.catalog()
  const counts = new Map((await countRunningPlans(deps.db, deps.clock.now())).map((row) => [row.plan, row.accounts]))
  const plans = [...catalog.plans.values()].map((plan) => ({
    ...planView(catalog, plan),
    accounts: counts.get(plan.id) ?? 0,
  }))
  return done({ plans })
}
