import { z } from 'zod'
import type { Catalog, Lane, Model } from '../catalog/catalog.ts'
import type { KeyKind } from '../model/caller.ts'
import type { PromptCache } from '../model/model-traits.ts'
import { laneDialect } from '../routing/lane-dialect.ts'
import { done, type Outcome } from './outcome.ts'
import { type PriceView, priceView } from './price-view.ts'

export const listModelsArgs = z.strictObject({})

export interface ModelView {
  readonly id: string
  /** Null: any effort is passed on. Empty: the model has none. */
  readonly efforts: readonly string[] | null
  readonly inputs: readonly string[]
  /** The most tokens that one part counts for, of every input but text. */
  readonly input_tokens_max: Readonly<Record<string, number>>
  readonly context_tokens: number
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
export async function listModels(deps: { readonly catalog: () => Catalog }): Promise<Outcome<{ models: ModelView[] }>> {
  return done({ models: deps.catalog().models.map(modelView) })
}

const modelView = (model: Model): ModelView => ({
  id: model.id,
  efforts: model.efforts ?? null,
  inputs: model.inputs,
  input_tokens_max: model.inputTokensMax,
  context_tokens: model.contextTokens,
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
