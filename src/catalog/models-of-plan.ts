import type { CatalogEntry, Plan } from './catalog.ts'
import { admits } from './visible-models.ts'

/** The models that a plan opens to its builder keys, by their base ids. */
export function modelsOfPlan(entries: Iterable<CatalogEntry>, { models }: Plan): string[] {
  const found = new Set<string>()
  for (const entry of entries) if (models.some((name) => matchesForBuilder(name, entry))) found.add(entry.model.id)
  return [...found]
}

/** A model without a price, or for wallet keys only, is not opened by a plan that names it. */
const matchesForBuilder = (name: string, entry: CatalogEntry): boolean =>
  entry.model.price !== undefined && entry.model.kinds.includes('builder') && admits(name, entry)
