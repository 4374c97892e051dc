import type { z } from 'zod'
import type { Catalog, Lane, Model } from '../catalog/catalog.ts'
import type { operatorModel } from '../contract/operate.ts'
import type { Clock } from '../lib/clock.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import { laneViews } from './explain-route.ts'
import { ratesView } from './price-view.ts'

type OperatedModel = z.output<typeof operatorModel>

export interface OperatedModelsDeps {
  readonly catalog: () => Catalog
  readonly health: LaneHealth
  readonly clock: Clock
}

/** Every model with its lanes, and how these stand now: whom a new conversation asks first, and who is left alone. */
export const operatedModels = ({ catalog, health, clock }: OperatedModelsDeps): OperatedModel[] =>
  catalog().models.map((model) => ({
    id: model.id,
    kinds: [...model.kinds],
    ...pricesOf(model),
    lanes: laneViews(model, health, clock.ticks()).map((view) => ({
      ...{ id: view.id, model: model.id, priority: view.priority, weight: view.weight },
      ...providerOf(model.lanes.find(({ id }) => id === view.id)!),
      first_percent: view.first_percent,
      aside: view.aside,
    })),
  }))

function pricesOf({ price }: Model): Pick<OperatedModel, 'price_input' | 'price_output'> {
  if (price === undefined) return { price_input: null, price_output: null }
  const { input, output } = ratesView(price)
  return { price_input: input, price_output: output }
}

const providerOf = ({ upstream, model }: Lane) => ({
  upstream: upstream.id,
  wire: upstream.wire,
  upstream_model: model,
})
