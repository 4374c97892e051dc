import type { Catalog, Lane, Upstream } from '../../catalog/catalog.ts'

/** A lane, with the models that run on it. */
export interface ServingLane {
  readonly lane: Lane
  readonly models: readonly string[]
}

export interface ChosenLanes {
  /** Those of one upstream together, upstreams in the order of the configuration. */
  readonly byUpstream: readonly UpstreamLanes[]
  /** Names that no upstream, model or lane has. */
  readonly unknown: readonly string[]
}

export interface UpstreamLanes {
  readonly upstream: Upstream
  readonly lanes: readonly ServingLane[]
}

/** The lanes that names mean, each an upstream's, a model's (with an effort or without) or a lane's; all where there are none. */
export function chosenLanes(catalog: Catalog, upstreams: readonly Upstream[], names: readonly string[]): ChosenLanes {
  const every = upstreams.map((upstream) => ({ upstream, lanes: lanesOf(catalog, upstream) }))
  if (names.length === 0) return { byUpstream: every, unknown: [] }
  const models = new Set(names.map((name) => catalog.entries.get(name)?.model.id))
  const means = ({ lane, models: served }: ServingLane): boolean =>
    names.includes(lane.id) || names.includes(lane.upstream.id) || served.some((model) => models.has(model))
  const byUpstream = every
    .map(({ upstream, lanes }) => ({ upstream, lanes: lanes.filter(means) }))
    .filter(({ upstream, lanes }) => lanes.length > 0 || names.includes(upstream.id))
  const known = new Set([
    ...catalog.entries.keys(),
    ...every.flatMap(({ upstream, lanes }) => [upstream.id, ...lanes.map(({ lane }) => lane.id)]),
  ])
  return { byUpstream, unknown: names.filter((name) => !known.has(name)) }
}

/** A lane that several models run on is one, whatever each of them pays for it. */
function lanesOf({ models }: Catalog, upstream: Upstream): ServingLane[] {
  const found = new Map<string, { lane: Lane; models: string[] }>()
  for (const model of models) {
    for (const lane of model.lanes) {
      if (lane.upstream.id !== upstream.id) continue
      const known = found.get(lane.id) ?? { lane, models: [] }
      found.set(lane.id, known)
      if (!known.models.includes(model.id)) known.models.push(model.id)
    }
  }
  return [...found.values()]
}

export interface UpstreamView {
  readonly id: string
  readonly wire: string
  readonly dialect: string
  /** Null for the demo. */
  readonly base_url: string | null
  /** Whether a credential is configured: of itself nothing is told. */
  readonly has_key: boolean
  readonly allow_private: boolean
  readonly lanes: readonly { readonly id: string; readonly model: string; readonly models: readonly string[] }[]
}

/** The providers as the configuration has them, and what runs on each. Nobody is asked. */
export const listUpstreams = (catalog: Catalog, upstreams: readonly Upstream[]): readonly UpstreamView[] =>
  chosenLanes(catalog, upstreams, []).byUpstream.map(({ upstream, lanes }) => ({
    id: upstream.id,
    wire: upstream.wire,
    dialect: upstream.dialect,
    base_url: upstream.baseUrl ?? null,
    has_key: upstream.apiKey !== undefined,
    allow_private: upstream.allowPrivate,
    lanes: lanes.map(({ lane, models }) => ({ id: lane.id, model: lane.model, models })),
  }))
