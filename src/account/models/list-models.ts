import type { Catalog, Lane, Model } from '../../catalog/catalog.ts'
import type { KeyKind } from '../../model/caller.ts'
import type { PromptCache } from '../../model/model-traits.ts'
import { formatPricePerMillion, formatUsd } from '../../model/money.ts'
import type { Price, Rates } from '../../model/price.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import { done, type Outcome } from '../outcome.ts'
import type { CountedInputs } from './counted-inputs.ts'

/** USD per million tokens, as decimal strings. */
export interface RatesView {
  readonly input: string
  readonly cached_input: string
  readonly cache_write: string
  readonly output: string
}

export interface TermsView extends RatesView {
  readonly per_request: string
  readonly tiers: readonly (RatesView & { readonly above_input_tokens: number })[]
}

export interface PriceView extends TermsView {
  readonly version: number
}

export const ratesView = (rates: Rates): RatesView => ({
  input: formatPricePerMillion(rates.input),
  cached_input: formatPricePerMillion(rates.cachedInput),
  cache_write: formatPricePerMillion(rates.cacheWrite),
  output: formatPricePerMillion(rates.output),
})

export const priceView = (price: Price): PriceView => ({ ...termsView(price), version: price.version })

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

export interface LaneView {
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
