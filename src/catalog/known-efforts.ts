import type { EffortSpellings } from '../model/model-traits.ts'

/** The efforts that make a difference: of several words for the same, the provider's own, else the one that asks for most. */
export function knownEfforts(spellings: EffortSpellings): string[] {
  const bySpelling = new Map<string | number, string>()
  for (const [effort, spelling] of Object.entries(spellings)) {
    if (bySpelling.get(spelling) !== spelling) bySpelling.set(spelling, effort)
  }
  const chosen = new Set(bySpelling.values())
  return Object.keys(spellings).filter((effort) => chosen.has(effort))
}
