import type { z } from 'zod'
import type { CatalogEntry, Lane, Model } from '../catalog/catalog.ts'
import { variantId, visibleModels } from '../catalog/resolve-model.ts'
import type { modelItem } from '../contract/owner.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatPricePerMillion, formatUsd } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { done } from './outcome.ts'
import { planOfAccount } from './plans.ts'
import type { AdminServices } from './services.ts'

/** USD per million tokens, as decimal strings. */
export type RatesView = ReturnType<typeof ratesView>

export const ratesView = (rates: Rates) => ({
  input: formatPricePerMillion(rates.input),
  cached_input: formatPricePerMillion(rates.cachedInput),
  cache_write: formatPricePerMillion(rates.cacheWrite),
  output: formatPricePerMillion(rates.output),
})

/** A price of the configuration, before the ledger numbers it. */
export const termsView = (price: Omit<Price, 'version'>) => ({
  ...ratesView(price),
  per_request: formatUsd(price.perRequest),
  tiers: price.tiers.map((tier) => ({ ...ratesView(tier), above_input_tokens: tier.aboveInputTokens })),
})

export type ModelView = ReturnType<typeof modelView>

/** Every model with its lanes and prices, for operators. */
export async function listModels({ catalog, countedInputs }: Pick<AdminServices, 'catalog' | 'countedInputs'>) {
  return done({ models: catalog().models.map((model) => modelView(model, countedInputs.largest(model))) })
}

const modelView = (model: Model, countedBeyondContext: number | undefined) => ({
  id: model.id,
  /** Null: any effort is passed on. Empty: the model has none. */
  efforts: model.efforts ?? null,
  inputs: model.inputs,
  input_tokens_max: model.inputTokensMax,
  context_tokens: model.contextTokens,
  /** The largest input beyond `context_tokens` that a provider counted since the server started. */
  counted_beyond_context: countedBeyondContext ?? null,
  max_output_tokens: model.maxOutputTokens,
  /** Null: the model cannot be called until it has one. */
  price: model.price === undefined ? null : { ...termsView(model.price), version: model.price.version },
  kinds: model.kinds,
  lanes: model.lanes.map((lane) => ({
    id: lane.id,
    upstream: lane.upstream.id,
    wire: lane.upstream.wire,
    model: lane.model,
    priority: lane.priority,
    weight: lane.weight,
    /** What the provider is asked to cache of a prompt. Null: it decides itself. */
    prompt_cache: laneDialect(lane).keepsOnDemand ? lane.promptCache : null,
  })),
})

type OfferedModel = z.output<typeof modelItem>
type OfferServices = Pick<AdminServices, 'db' | 'ledger' | 'catalog'> & { readonly health: LaneStatus }
type LaneStatus = Pick<LaneHealth, 'isAvailable' | 'openCircuitOf'>

/** The models that keys of an account may call: any wallet key, or a builder key on the account's plan. */
export async function offeredModels(services: OfferServices, account: AccountRow): Promise<OfferedModel[]> {
  const catalog = services.catalog()
  const { state, newest } = await planOfAccount(services, account)
  const ids = (entries: CatalogEntry[]): ReadonlySet<string> => new Set(entries.map(({ model }) => model.id))
  const byWallet = ids(visibleModels(catalog, { kind: 'wallet', models: undefined, plan: undefined }))
  const plan = state === 'active' && newest ? { id: newest.plan, endsAt: newest.ends_at ?? undefined } : undefined
  const byPlan = plan ? ids(visibleModels(catalog, { kind: 'builder', models: undefined, plan })) : new Set<string>()
  return catalog.models
    .filter(({ id }) => byWallet.has(id) || byPlan.has(id))
    .map((model) => ({
      ...offeredModelView(model, (lane) => isLaneAvailable(services.health, lane, account)),
      kinds: [
        ...(byWallet.has(model.id) ? (['wallet'] as const) : []),
        ...(byPlan.has(model.id) ? (['builder'] as const) : []),
      ],
    }))
}

/** After the open interval, these lanes are half-open and become available only with a success. */
const NEEDS_SUCCESS: ReadonlySet<OpenReason> = new Set(['failing', 'locked-out'])

function isLaneAvailable(health: LaneStatus, lane: Lane, account: AccountRow): boolean {
  const circuit = health.openCircuitOf(lane)
  if (circuit === undefined || (circuit.onlyFor !== undefined && circuit.onlyFor !== account)) return true
  return !NEEDS_SUCCESS.has(circuit.reason) && health.isAvailable(lane)
}

const offeredModelView = (model: Model, isAvailable: (lane: Lane) => boolean): Omit<OfferedModel, 'kinds'> => ({
  id: model.id,
  variants: (model.efforts ?? []).map((effort) => variantId(model.id, effort)),
  efforts: model.efforts === undefined ? null : [...model.efforts],
  inputs: [...model.inputs],
  context_tokens: model.contextTokens,
  max_output_tokens: model.maxOutputTokens,
  price: offeredPrice(model),
  available: model.lanes.some(isAvailable),
  demo: model.lanes.some(({ upstream }) => upstream.wire === 'demo'),
})

function offeredPrice({ price }: Model): OfferedModel['price'] {
  if (price === undefined) return null
  const { tiers, per_request, ...base } = termsView(price)
  return { tiers: [{ above_input_tokens: 0, ...base }, ...tiers], per_request }
}

/** A model for the first request: an available one with a price, else any. */
export async function suggestModel(services: OfferServices, account: AccountRow): Promise<string | null> {
  const models = await offeredModels(services, account)
  const ready = models.find(({ available, price }) => available && price !== null)
  return (ready ?? models[0])?.id ?? null
}
