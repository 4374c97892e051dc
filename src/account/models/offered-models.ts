import type { z } from 'zod'
import type { Catalog, CatalogEntry, Lane, Model } from '../../catalog/catalog.ts'
import { variantId } from '../../catalog/effort-suffix.ts'
import { visibleModels } from '../../catalog/visible-models.ts'
import type { modelItem } from '../../contract/models.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { LaneHealth } from '../../routing/lane-health.ts'
import type { OpenReason } from '../../routing/open-rules.ts'
import { type PlanOfAccountDeps, planOfAccount } from '../plans/plan-of-account.ts'
import { priceView } from './list-models.ts'

export type OfferedModel = z.output<typeof modelItem>

type LaneStatus = Pick<LaneHealth, 'isAvailable' | 'openCircuitOf'>

export interface OfferedModelsDeps extends PlanOfAccountDeps {
  readonly clock: Clock
  readonly catalog: () => Catalog
  readonly health: LaneStatus
}

/** The models that keys of an account may call: any wallet key, or a builder key on the plan that the account is on. */
export async function offeredModels(deps: OfferedModelsDeps, account: AccountRow): Promise<OfferedModel[]> {
  const catalog = deps.catalog()
  const { state, newest } = await planOfAccount(deps, account)
  const ids = (entries: CatalogEntry[]): ReadonlySet<string> => new Set(entries.map(({ model }) => model.id))
  const byWallet = ids(visibleModels(catalog, { kind: 'wallet', models: undefined, plan: undefined }))
  const plan = state === 'active' && newest ? { id: newest.plan, endsAt: newest.ends_at ?? undefined } : undefined
  const byPlan = plan ? ids(visibleModels(catalog, { kind: 'builder', models: undefined, plan })) : new Set<string>()
  return catalog.models
    .filter(({ id }) => byWallet.has(id) || byPlan.has(id))
    .map((model) => ({
      ...modelView(model, (lane) => isLaneAvailable(deps.health, lane, account)),
      kinds: [
        ...(byWallet.has(model.id) ? (['wallet'] as const) : []),
        ...(byPlan.has(model.id) ? (['builder'] as const) : []),
      ],
    }))
}

/** A lane that fails or refuses our key is not available again when its time aside is over, but only after a success. */
const NEEDS_SUCCESS: ReadonlySet<OpenReason> = new Set(['failing', 'locked-out'])

function isLaneAvailable(health: LaneStatus, lane: Lane, account: AccountRow): boolean {
  const aside = health.openCircuitOf(lane)
  if (aside === undefined || (aside.onlyFor !== undefined && aside.onlyFor !== account)) return true
  return !NEEDS_SUCCESS.has(aside.reason) && health.isAvailable(lane)
}

const modelView = (model: Model, isAvailable: (lane: Lane) => boolean): Omit<OfferedModel, 'kinds'> => ({
  id: model.id,
  variants: (model.efforts ?? []).map((effort) => variantId(model.id, effort)),
  efforts: model.efforts === undefined ? null : [...model.efforts],
  inputs: [...model.inputs],
  context_tokens: model.contextTokens,
  max_output_tokens: model.maxOutputTokens,
  price: priceOf(model),
  available: model.lanes.some(isAvailable),
  demo: model.lanes.some(({ upstream }) => upstream.wire === 'demo'),
})

function priceOf({ price }: Model): OfferedModel['price'] {
  if (price === undefined) return null
  const { tiers, per_request, input, cached_input, cache_write, output } = priceView(price)
  const base = { above_input_tokens: 0, input, cached_input, cache_write, output }
  return { tiers: [base, ...tiers], per_request }
}

/** A model to begin with: one that answers now and has a price, else whatever there is. */
export async function suggestModel(deps: OfferedModelsDeps, account: AccountRow): Promise<string | null> {
  const models = await offeredModels(deps, account)
  const ready = models.find(({ available, price }) => available && price !== null)
  return (ready ?? models[0])?.id ?? null
}
