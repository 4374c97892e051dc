import { z } from 'zod'
import type { Catalog, Model } from '../catalog/catalog.ts'
import type { KeyKind } from '../model/caller.ts'
import { done, type Outcome } from './outcome.ts'
import { type PriceView, priceView } from './price-view.ts'

export const listModelsArgs = z.strictObject({})

export interface ModelView {
  readonly id: string
  /** Null: any effort is passed on. Empty: the model has none. */
  readonly efforts: readonly string[] | null
  readonly inputs: readonly string[]
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
}

/** The operator's list: every model with its lanes and prices, whoever may call it. */
export async function listModels(deps: { readonly catalog: () => Catalog }): Promise<Outcome<{ models: ModelView[] }>> {
  return done({ models: deps.catalog().models.map(modelView) })
}

const modelView = (model: Model): ModelView => ({
  id: model.id,
  efforts: model.efforts ?? null,
  inputs: model.inputs,
  context_tokens: model.contextTokens,
  max_output_tokens: model.maxOutputTokens,
  price: model.price === undefined ? null : priceView(model.price),
  kinds: model.kinds,
  lanes: model.lanes.map(({ id, upstream, model, priority, weight }) => ({
    id,
    upstream: upstream.id,
    wire: upstream.wire,
    model,
    priority,
    weight,
  })),
})
