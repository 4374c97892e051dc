import type { Brand } from '../lib/brand.ts'
import type { EffortSpelling, EffortSpellings } from './model-traits.ts'

/** How hard a model shall think. An open set: a catalogue lists what its model knows. */
export type Effort = Brand<string, 'effort'>

/** Compared after lower-casing only: `minimal` and `low`, or `max` and `xhigh`, are different words and stay so. */
export const effortOf = (word: string): Effort => word.toLowerCase() as Effort

/** From not at all to as much as there is: only what stands here can be compared. */
const LADDER: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']

/**
 * How a model is told of an effort. One that it does not know goes as the nearest below, so that nobody pays for more
 * thinking than was asked for; where there is none below, as the least. Undefined: there is nothing near.
 */
export function spellEffort(spellings: EffortSpellings | undefined, effort: Effort): EffortSpelling | undefined {
  if (spellings === undefined) return effort
  const own = Object.hasOwn(spellings, effort) ? spellings[effort] : undefined
  if (own !== undefined) return own
  const wanted = LADDER.indexOf(effort)
  if (wanted === -1) return undefined
  const rungs = LADDER.map((rung) => (Object.hasOwn(spellings, rung) ? spellings[rung] : undefined))
  const below = rungs.slice(0, wanted).findLast((spelling) => spelling !== undefined)
  return below ?? rungs.slice(wanted).find((spelling) => spelling !== undefined)
}
