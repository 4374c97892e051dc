import type { Catalog } from '../../catalog/catalog.ts'
import { admits } from '../../catalog/visible-models.ts'
import type { KeyKind } from '../../model/caller.ts'

/** The entries of a key's list that admit no model of its kind: most likely misspelt, and found out too late otherwise. */
export function unmatchedModels(catalog: Catalog, kind: KeyKind, listed: readonly string[]): string[] {
  const entries = [...catalog.entries.values()].filter(({ model }) => model.kinds.includes(kind))
  return listed.filter((name) => !entries.some((entry) => admits(name, entry)))
}
