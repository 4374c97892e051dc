import type { z } from 'zod'
import type { Catalog, Lane, Model } from '../catalog/catalog.ts'
import type { operatorModel } from '../contract/operate.ts'
import type { Clock } from '../lib/clock.ts'
import type { EstimateErrors } from '../pricing/estimate.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { firstShares } from '../routing/plan-lanes.ts'
import { type CountedInputs, ratesView } from './models.ts'
import { done, type Outcome, refused } from './outcome.ts'
import type { ServerStatus } from './server-status.ts'
import { quoted } from './values.ts'

export interface RouteView {
  readonly model: string
  readonly effort: string | null
  /** Without one nobody may call it. */
  readonly has_price: boolean
  /** Where no server runs, every lane looks as it does when one has just started. */
  readonly server_runs: boolean
  /** In the order in which a new conversation goes through them. */
  readonly lanes: readonly RouteLaneView[]
}

export interface RouteLaneView {
  readonly id: string
  readonly priority: number
  readonly weight: number
  /** Of new conversations: how many in a hundred ask it first now. */
  readonly first_percent: number
  /** False: it is passed over now, left alone or just being tried by somebody. */
  readonly asked: boolean
  readonly aside: OpenLaneView | null
  /** What it cannot do: a request that asks for it passes this lane over. */
  readonly cannot: readonly string[]
}

export interface OpenLaneView {
  readonly reason: OpenReason
  /** 0: whoever comes to it tries it, where it is asked; else somebody is trying it. */
  readonly seconds_left: number
}

export interface ExplainRouteDeps {
  readonly catalog: () => Catalog
  readonly health: LaneHealth
  readonly clock: Clock
  readonly status: () => ServerStatus
}

/** Where a request for a model would go, if it came now. */
export async function explainRoute(
  { catalog, health, clock, status }: ExplainRouteDeps,
  args: { readonly model: string },
): Promise<Outcome<RouteView>> {
  const entry = catalog().entries.get(args.model)
  if (entry === undefined)
    return refused('model_not_found', `There is no model ${quoted(args.model)}. See: millrace models`)
  const { model } = entry
  const lanes = laneViews(model, health, clock.nowMicros())
  return done({
    model: model.id,
    effort: entry.suffixEffort ?? null,
    has_price: model.price !== undefined,
    server_runs: status().running,
    lanes,
  })
}

function laneViews({ lanes }: Model, health: LaneHealth, now: number): RouteLaneView[] {
  const asked = lanes.filter((lane) => health.isAvailable(lane))
  const shares = firstShares(asked, health.shareOf)
  const views = lanes.map((lane) => ({
    id: lane.id,
    priority: lane.priority,
    weight: lane.weight,
    first_percent: Math.round(1000 * (shares.get(lane) ?? 0)) / 10,
    asked: asked.includes(lane),
    aside: asideView(health, lane, now),
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

function asideView(health: LaneHealth, lane: Lane, now: number): OpenLaneView | null {
  const aside = health.openCircuitOf(lane)
  return aside ? { reason: aside.reason, seconds_left: Math.max(0, Math.ceil((aside.until - now) / 1_000_000)) } : null
}

type OperatedModel = z.output<typeof operatorModel>

export interface OperatedModelsDeps {
  readonly catalog: () => Catalog
  readonly health: LaneHealth
  readonly estimateErrors: Pick<EstimateErrors, 'of'>
  readonly clock: Clock
  readonly countedInputs: Pick<CountedInputs, 'largest'>
}

/** Every model with its lanes, and how these stand now: whom a new conversation asks first, and who is left alone. */
export const operatedModels = ({
  catalog,
  health,
  estimateErrors,
  clock,
  countedInputs,
}: OperatedModelsDeps): OperatedModel[] =>
  catalog().models.map((model) => ({
    id: model.id,
    kinds: [...model.kinds],
    ...pricesOf(model),
    context_tokens: model.contextTokens,
    counted_beyond_context: countedInputs.largest(model) ?? null,
    estimate_error: estimateErrors.of(model.id) ?? null,
    lanes: laneViews(model, health, clock.nowMicros()).map((view) => ({
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
