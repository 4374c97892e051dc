import type { z } from 'zod'
import type { Lane, Model } from '../catalog/catalog.ts'
import type { operatorModel } from '../contract/operate.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { firstShares } from '../routing/plan-lanes.ts'
import { ratesView } from './models.ts'
import { done, type Outcome, refused } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { quoted } from './values.ts'

export interface RouteView {
  readonly model: string
  readonly effort: string | null
  readonly has_price: boolean
  /** Without a running server, all circuits are closed, as after a start. */
  readonly server_runs: boolean
  /** In the order in which a new conversation tries them. */
  readonly lanes: readonly RouteLaneView[]
}

export interface RouteLaneView {
  readonly id: string
  readonly priority: number
  readonly weight: number
  /** The percentage of new conversations that try it first now. */
  readonly first_percent: number
  /** False: requests skip it now, because its circuit is open, or half-open with a running trial. */
  readonly asked: boolean
  readonly aside: OpenLaneView | null
  /** Features that it lacks: requests that need one skip it. */
  readonly cannot: readonly string[]
}

export interface OpenLaneView {
  readonly reason: OpenReason
  /** 0: half-open. The next request tries it if it is `asked`; otherwise a request is trying it. */
  readonly seconds_left: number
}

/** The lanes that a request for a model would try now. */
export async function explainRoute(
  { catalog, health, clock, status }: Pick<AdminServices, 'catalog' | 'health' | 'clock' | 'status'>,
  args: { readonly model: string },
): Promise<Outcome<RouteView>> {
  const entry = catalog().entries.get(args.model)
  if (entry === undefined) {
    return refused('model_not_found', `There is no model ${quoted(args.model)}. See: millrace models`)
  }
  const { model } = entry
  return done({
    model: model.id,
    effort: entry.suffixEffort ?? null,
    has_price: model.price !== undefined,
    server_runs: status().running,
    lanes: laneViews(model, health, clock.nowMicros()),
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
    aside: circuitView(health, lane, now),
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

function circuitView(health: LaneHealth, lane: Lane, now: number): OpenLaneView | null {
  const open = health.openCircuitOf(lane)
  return open ? { reason: open.reason, seconds_left: Math.max(0, Math.ceil((open.until - now) / 1_000_000)) } : null
}

/** Every model with its lanes and their state, for operators. */
export const operatedModels = ({
  catalog,
  health,
  estimateErrors,
  clock,
  countedInputs,
}: Pick<AdminServices, 'catalog' | 'health' | 'estimateErrors' | 'clock' | 'countedInputs'>): z.output<
  typeof operatorModel
>[] =>
  catalog().models.map((model) => {
    const rates = model.price && ratesView(model.price)
    return {
      id: model.id,
      kinds: [...model.kinds],
      price_input: rates?.input ?? null,
      price_output: rates?.output ?? null,
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
