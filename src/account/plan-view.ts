import type { Catalog, Plan } from '../catalog/catalog.ts'
import { modelsOfPlan } from '../catalog/models-of-plan.ts'
import { formatUsd } from '../model/money.ts'

/** A plan as the configuration has it. */
export interface PlanView {
  readonly id: string
  /** As they are written. */
  readonly models: readonly string[]
  /** What they match: the models that builder keys on this plan may call, by their base ids. */
  readonly opens: readonly string[]
  readonly windows: readonly { readonly name: string; readonly allowance: string }[]
}

export const planView = (catalog: Pick<Catalog, 'entries'>, plan: Plan): PlanView => ({
  id: plan.id,
  models: plan.models,
  opens: modelsOfPlan(catalog.entries.values(), plan),
  windows: plan.windows.map(({ name, amount }) => ({ name, allowance: formatUsd(amount) })),
})

/** `12.00 USD every 5h, 60.00 USD every month` */
export const windowsInWords = ({ windows }: Pick<PlanView, 'windows'>): string =>
  windows.map(({ name, allowance }) => `${allowance} USD every ${name}`).join(', ')
