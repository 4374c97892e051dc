import type { CatalogEntry, Lane, Model } from '../catalog/catalog.ts'
import { variantId, visibleModels } from '../catalog/resolve-model.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatPricePerMillion, formatUsd } from '../model/money.ts'
import type { Price, TokenPrices } from '../model/price.ts'
import type { LaneHealth, OpenReason } from '../routing/circuit-breaker.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { firstShares } from '../routing/plan-lanes.ts'
import { done, refuseOperation } from './outcome.ts'
import { planOfAccount } from './plans.ts'
import type { AdminServices, OperatorServices } from './services.ts'
import { quoted } from './values.ts'

/** USD per million tokens, as decimal strings. */
export const tokenPricesView = (prices: TokenPrices) => ({
  input: formatPricePerMillion(prices.input),
  cached_input: formatPricePerMillion(prices.cachedInput),
  cache_write: formatPricePerMillion(prices.cacheWrite),
  output: formatPricePerMillion(prices.output),
})

/** By field and value, as the configuration has them; null for none. */
const multipliersView = ({ multipliers }: Pick<Price, 'multipliers'>) =>
  multipliers === undefined
    ? null
    : Object.fromEntries(
        Object.entries(multipliers).map(([field, factors]) => [
          field,
          Object.fromEntries(Object.entries(factors).map(([value, factor]) => [value, formatPricePerMillion(factor)])),
        ]),
      )

/** A price of the configuration, before the ledger numbers it. */
export const termsView = (price: Omit<Price, 'version'>) => ({
  ...tokenPricesView(price),
  per_request: formatUsd(price.perRequest),
  tiers: price.tiers.map((tier) => ({ ...tokenPricesView(tier), above_input_tokens: tier.aboveInputTokens })),
  multipliers: multipliersView(price),
})

/** Every model with its lanes and prices, for operators. */
export async function listModels({ catalog, countedInputs }: AdminServices) {
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
  /** The import that named it; null for an entry of the configuration. */
  imported_from: model.importedFrom ?? null,
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

/** The models that keys of an account may call: any wallet key, or a builder key on the account's plan. */
export async function offeredModels(services: AdminServices, account: AccountRow) {
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

function isLaneAvailable(health: LaneHealth, lane: Lane, account: AccountRow): boolean {
  const circuit = health.openCircuitOf(lane)
  if (circuit === undefined || (circuit.onlyForAccount !== undefined && circuit.onlyForAccount !== account)) return true
  return !NEEDS_SUCCESS.has(circuit.reason) && health.isAvailable(lane)
}

const offeredModelView = (model: Model, isAvailable: (lane: Lane) => boolean) => ({
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

function offeredPrice({ price }: Model) {
  if (price === undefined) return null
  const { tiers, per_request, multipliers, ...base } = termsView(price)
  return { tiers: [{ above_input_tokens: 0, ...base }, ...tiers], per_request, multipliers }
}

/** A model for the first request: an available one with a price, else any. */
export async function suggestModel(services: AdminServices, account: AccountRow): Promise<string | null> {
  const models = await offeredModels(services, account)
  const ready = models.find(({ available, price }) => available && price !== null)
  return (ready ?? models[0])?.id ?? null
}

/** The lanes that a request for a model would try now. */
export async function explainRoute(
  { catalog, health, clock, status }: Pick<OperatorServices, 'catalog' | 'health' | 'clock' | 'status'>,
  args: { readonly model: string },
) {
  const entry = catalog().entries.get(args.model)
  if (entry === undefined) {
    return refuseOperation('model_not_found', `There is no model ${quoted(args.model)}. See: millrace models`)
  }
  const { model } = entry
  return done({
    model: model.id,
    effort: entry.suffixEffort ?? null,
    has_price: model.price !== undefined,
    /** Without a running server, all circuits are closed, as after a start. */
    server_runs: status().running,
    /** In the order in which a new conversation tries them. */
    lanes: laneViews(model, health, clock.nowMicros()),
  })
}

function laneViews({ lanes }: Model, health: LaneHealth, now: number) {
  const asked = lanes.filter((lane) => health.isAvailable(lane))
  const shares = firstShares(asked, health.shareOf)
  const views = lanes.map((lane) => ({
    id: lane.id,
    priority: lane.priority,
    weight: lane.weight,
    /** The percentage of new conversations that try it first now. */
    first_percent: Math.round(1000 * (shares.get(lane) ?? 0)) / 10,
    /** False: requests skip it now, because its circuit is open, or half-open with a running trial. */
    asked: asked.includes(lane),
    aside: circuitView(health, lane, now),
    /** Features that it lacks: requests that need one skip it. */
    cannot: laneDialect(lane).cannot,
  }))
  return views.sort(
    (a, b) =>
      Number(b.asked) - Number(a.asked) ||
      a.priority - b.priority ||
      b.first_percent - a.first_percent ||
      b.weight - a.weight,
  )
}

/** No seconds left: half-open. The next request tries it if it is `asked`; otherwise a request is trying it. */
function circuitView(health: LaneHealth, lane: Lane, now: number) {
  const open = health.openCircuitOf(lane)
  return open ? { reason: open.reason, seconds_left: Math.max(0, Math.ceil((open.until - now) / 1_000_000)) } : null
}

type OperatedServices = Pick<AdminServices, 'catalog' | 'health' | 'estimateErrors' | 'clock' | 'countedInputs'>

/** Every model with its lanes and their state, for operators. */
export const operatedModels = ({ catalog, health, estimateErrors, clock, countedInputs }: OperatedServices) =>
  catalog().models.map((model) => {
    const prices = model.price && tokenPricesView(model.price)
    return {
      id: model.id,
      kinds: [...model.kinds],
      price_input: prices?.input ?? null,
      price_output: prices?.output ?? null,
      context_tokens: model.contextTokens,
      counted_beyond_context: countedInputs.largest(model) ?? null,
      estimate_error: estimateErrors.of(model.id) ?? null,
      lanes: laneViews(model, health, clock.nowMicros()).map(({ id, priority, weight, first_percent, aside }) => {
        const lane = model.lanes.find((each) => each.id === id)!
        return {
          ...{ id, model: model.id, priority, weight, first_percent, aside },
          ...{ upstream: lane.upstream.id, wire: lane.upstream.wire, upstream_model: lane.model },
        }
      }),
    }
  })
