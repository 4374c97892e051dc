import type { Caller } from '../model/caller.ts'
import type { Catalog, CatalogEntry, Plan } from './catalog.ts'
import { isGlob, matchesGlob } from './glob.ts'

/** What decides which models exist for somebody: configuration, key and plan, never an outage. */
export type ModelRights = Pick<Caller, 'kind' | 'models' | 'plan'>

/** Exactly what a caller may call, effort variants included, in the order of the configuration. */
export const visibleModels = (catalog: Catalog, rights: ModelRights): CatalogEntry[] =>
  [...catalog.entries.values()].filter((entry) => mayCall(catalog, rights, entry))

export function mayCall(catalog: Catalog, { kind, models, plan }: ModelRights, entry: CatalogEntry): boolean {
  const { model } = entry
  if (model.price === undefined || !model.kinds.includes(kind)) return false
  if (models !== undefined && !isListed(models, entry)) return false
  // Without a plan that is there, what the key could call with one stays listed: a call says what is missing.
  const covered = kind === 'builder' && plan !== undefined ? catalog.plans.get(plan.id)?.models : undefined
  return covered === undefined || isListed(covered, entry)
}

const isListed = (names: readonly string[], entry: CatalogEntry): boolean => names.some((name) => admits(name, entry))

/** A base id admits its variants, a variant admits only itself, a pattern is held against base ids. */
export const admits = (listed: string, entry: CatalogEntry): boolean =>
  isGlob(listed) ? matchesGlob(listed, entry.model.id) : listed === entry.id || listed === entry.model.id

/** The models that a plan opens to its builder keys, by their base ids. */
export function modelsOfPlan(entries: Iterable<CatalogEntry>, { models }: Plan): string[] {
  const found = new Set<string>()
  for (const entry of entries) if (models.some((name) => matchesForBuilder(name, entry))) found.add(entry.model.id)
  return [...found]
}

/** A model without a price, or for wallet keys only, is not opened by a plan that names it. */
const matchesForBuilder = (name: string, entry: CatalogEntry): boolean =>
  entry.model.price !== undefined && entry.model.kinds.includes('builder') && admits(name, entry)
