import type { z } from 'zod'
import type { Catalog, Plan } from '../../catalog/catalog.ts'
import { modelsOfPlan } from '../../catalog/visible-models.ts'
import type { planItem } from '../../contract/operate.ts'
import type { Clock } from '../../lib/clock.ts'
import { formatUsd } from '../../model/money.ts'
import { countRunningPlans } from '../../store/subscriptions.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome } from '../outcome.ts'

type PlanItem = z.output<typeof planItem>

/** A plan as the configuration has it. */
export type PlanView = Omit<PlanItem, 'accounts'>

export const planView = (catalog: Pick<Catalog, 'entries'>, plan: Plan): PlanView => ({
  id: plan.id,
  models: [...plan.models],
  opens: modelsOfPlan(catalog.entries.values(), plan),
  windows: plan.windows.map(({ name, amount }) => ({ name, allowance: formatUsd(amount) })),
})

/** `12.00 USD every 5h, 60.00 USD every month` */
export const windowsInWords = ({ windows }: Pick<PlanView, 'windows'>): string =>
  windows.map(({ name, allowance }) => `${allowance} USD every ${name}`).join(', ')

interface ListPlansDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly catalog: () => Catalog
}

/** The plans of the configuration. */
export async function listPlans(deps: ListPlansDeps): Promise<Outcome<{ items: PlanItem[] }>> {
  const catalog = deps.catalog()
  const counts = new Map((await countRunningPlans(deps.db, deps.clock.now())).map((row) => [row.plan, row.accounts]))
  const items = [...catalog.plans.values()].map((plan) => ({
    ...planView(catalog, plan),
    accounts: counts.get(plan.id) ?? 0,
  }))
  return done({ items })
}
