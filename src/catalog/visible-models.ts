import type { Caller } from '../model/caller.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { isGlob, matchesGlob } from './glob.ts'

/** What decides which models exist for somebody: configuration and key alone, never an outage. */
export type ModelRights = Pick<Caller, 'kind' | 'models'>

/** Exactly what a caller may call, effort variants included, in the order of the configuration. */
export const visibleModels = (catalog: Catalog, rights: ModelRights): CatalogEntry[] =>
  [...catalog.entries.values()].filter((entry) => mayCall(rights, entry))

export function mayCall({ kind, models }: ModelRights, entry: CatalogEntry): boolean {
  const { model } = entry
  if (model.price === undefined || !model.kinds.includes(kind)) return false
  return models === undefined || models.some((listed) => admits(listed, entry))
}

/** A base id admits its variants, a variant admits only itself, a pattern is held against base ids. */
export const admits = (listed: string, entry: CatalogEntry): boolean =>
  isGlob(listed) ? matchesGlob(listed, entry.model.id) : listed === entry.id || listed === entry.model.id
