import type { z } from 'zod'
import type { Catalog, CatalogEntry, Lane, Model } from '../catalog/catalog.ts'
import { variantId, visibleModels } from '../catalog/resolve-model.ts'
import type { modelItem } from '../contract/owner.ts'
import type { Clock } from '../lib/clock.ts'
import type { KeyKind } from '../model/caller.ts'
import type { PromptCache } from '../model/effort.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatPricePerMillion, formatUsd } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { done, type Outcome } from './outcome.ts'
import { type PlanOfAccountDeps, planOfAccount } from './plans.ts'

/** USD per million tokens, as decimal strings. */
export interface RatesView {
  readonly input: string
  readonly cached_input: string
  readonly cache_write: string
  readonly output: string
}

interface TermsView extends RatesView {
  readonly per_request: string
  readonly tiers: readonly (RatesView & { readonly above_input_tokens: number })[]
}

interface PriceView extends TermsView {
  readonly version: number
}

export const ratesView = (rates: Rates): RatesView => ({
  input: formatPricePerMillion(rates.input),
  cached_input: formatPricePerMillion(rates.cachedInput),
  cache_write: formatPricePerMillion(rates.cacheWrite),
  output: formatPricePerMillion(rates.output),
})

const priceView = (price: Price): PriceView => ({ ...termsView(price), version: price.version })

/** A price as the configuration has it, before it is numbered. */
export const termsView = (price: Omit<Price, 'version'>): TermsView => ({
  ...ratesView(price),
  per_request: formatUsd(price.perRequest),
  tiers: price.tiers.map((tier) => ({ ...ratesView(tier), above_input_tokens: tier.aboveInputTokens })),
})

export interface ModelView {
  readonly id: string
  /** Null: any effort is passed on. Empty: the model has none. */
  readonly efforts: readonly string[] | null
  readonly inputs: readonly string[]
  /** The most tokens that one part counts for, of every input but text. */
  readonly input_tokens_max: Readonly<Record<string, number>>
  readonly context_tokens: number
  /** More input than `context_tokens`, as a provider counted it since the server started; null: none did. */
  readonly counted_beyond_context: number | null
  readonly max_output_tokens: number
  /** Null: nobody may call it before it has one. */
  readonly price: PriceView | null
  readonly kinds: readonly KeyKind[]
  readonly lanes: readonly LaneView[]
}

interface LaneView {
  readonly id: string
  readonly upstream: string
  readonly wire: string
  readonly model: string
  readonly priority: number
  readonly weight: number
  /** What its provider is asked to keep of a prompt. Null: nobody asks it, it sees to that itself. */
  readonly prompt_cache: PromptCache | null
}

/** The operator's list: every model with its lanes and prices, whoever may call it. */
export async function listModels(deps: ListModelsDeps): Promise<Outcome<{ models: ModelView[] }>> {
  return done({ models: deps.catalog().models.map((model) => modelView(model, deps.countedInputs)) })
}

export interface ListModelsDeps {
  readonly catalog: () => Catalog
  readonly countedInputs: Pick<CountedInputs, 'largest'>
}

const modelView = (model: Model, countedInputs: ListModelsDeps['countedInputs']): ModelView => ({
  id: model.id,
  efforts: model.efforts ?? null,
  inputs: model.inputs,
  input_tokens_max: model.inputTokensMax,
  context_tokens: model.contextTokens,
  counted_beyond_context: countedInputs.largest(model) ?? null,
  max_output_tokens: model.maxOutputTokens,
  price: model.price === undefined ? null : priceView(model.price),
  kinds: model.kinds,
  lanes: model.lanes.map(laneView),
})

const laneView = (lane: Lane): LaneView => ({
  id: lane.id,
  upstream: lane.upstream.id,
  wire: lane.upstream.wire,
  model: lane.model,
  priority: lane.priority,
  weight: lane.weight,
  prompt_cache: laneDialect(lane).keepsOnDemand ? lane.promptCache : null,
})

type OfferedModel = z.output<typeof modelItem>

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
      ...offeredModelView(model, (lane) => isLaneAvailable(deps.health, lane, account)),
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

const offeredModelView = (model: Model, isAvailable: (lane: Lane) => boolean): Omit<OfferedModel, 'kinds'> => ({
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

/** A request whose provider counted more input than the model's `context_tokens` allows. */
export interface CountedBeyond {
  readonly model: string
  readonly counted: number
  readonly context_tokens: number
}

/** The largest inputs that providers have counted beyond a model's `context_tokens` since the server started, for operators. */
export interface CountedInputs {
  note(model: { readonly id: string; readonly contextTokens: number }, inputTokens: number): void
  /** Undefined while none was larger than the context that is configured now. */
  largest(model: { readonly id: string; readonly contextTokens: number }): number | undefined
}

/** Only models of the catalogue are noted, so there are never more than it ever had. `onLarger` hears of each new maximum. */
export function createCountedInputs(onLarger: (found: CountedBeyond) => void): CountedInputs {
  const largest = new Map<string, number>()
  const beyond = (counted: number | undefined, contextTokens: number) =>
    counted !== undefined && counted > contextTokens ? counted : undefined
  return {
    note({ id, contextTokens }, inputTokens) {
      if (inputTokens <= contextTokens || inputTokens <= (largest.get(id) ?? 0)) return
      largest.set(id, inputTokens)
      onLarger({ model: id, counted: inputTokens, context_tokens: contextTokens })
    },
    largest: ({ id, contextTokens }) => beyond(largest.get(id), contextTokens),
  }
}
