import type { Catalog, Upstream } from '../catalog/catalog.ts'
import type { BannerUpstream } from './banner.ts'

/** Every provider with how many models have a lane on it. */
export const bannerUpstreams = (catalog: Catalog, upstreams: readonly Upstream[]): BannerUpstream[] =>
  upstreams.map(({ id, wire, baseUrl }) => ({
    id,
    where: wire === 'demo' ? 'built in, no network' : (baseUrl ?? wire),
    models: catalog.models.filter((model) => model.lanes.some((lane) => lane.upstream.id === id)).length,
  }))

/** What a newcomer's first request asks for: the first model that a wallet key may call. */
export const firstModel = (catalog: Catalog): string | undefined =>
  catalog.models.find((model) => model.price !== undefined && model.kinds.includes('wallet'))?.id
