import type { Catalog, Upstream } from '../catalog/catalog.ts'
import { chosenLanes } from './chosen-lanes.ts'

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
