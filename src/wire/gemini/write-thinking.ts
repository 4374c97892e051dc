import type { Fields } from '../../lib/is-object.ts'
import type { Conversation } from '../../model/conversation.ts'
import { spellEffort } from '../../model/effort.ts'
import type { EffortSpelling } from '../../model/model-traits.ts'
import { budgetWithin } from '../budget-within.ts'
import { clientName } from '../client-names.ts'
import type { LaneTarget } from '../lane-target.ts'
import type { GeminiDialect } from './dialects.ts'

interface WrittenThinking {
  /** Undefined: the model thinks as it does unasked, and tells nothing of it. */
  readonly thinkingConfig: Fields | undefined
  readonly leftOut: readonly string[]
}

/**
 * How hard the model thinks, by level or by budget, never both, and whether it tells of it. A Responses client asks for a
 * summary; a Chat client has no word for that, and is told where it has asked for an effort.
 */
export function writeThinking({ reasoning }: Conversation, target: LaneTarget<GeminiDialect>): WrittenThinking {
  const { effort, client, dialect, outputCap } = target
  const { efforts } = dialect.traits
  const takesIt = !dialect.withoutFields.includes('thinkingConfig')
  const depth = effort === undefined ? {} : takesIt ? depthOf(spellEffort(efforts, effort), outputCap) : undefined
  const asksForSummary = reasoning.summary !== undefined
  const asksToBeTold = client === 'responses' ? asksForSummary : effort !== undefined && effort !== 'none'
  const isThinking =
    takesIt &&
    depth !== undefined &&
    depth.thinkingBudget !== 0 &&
    (efforts === undefined || Object.keys(efforts).length > 0)
  const thinkingConfig = { ...depth, ...(asksToBeTold && isThinking ? { includeThoughts: true } : {}) }
  return {
    thinkingConfig: Object.keys(thinkingConfig).length === 0 ? undefined : thinkingConfig,
    leftOut: [
      ...(depth === undefined ? [clientName('effort', client)] : []),
      ...(asksForSummary && !isThinking ? [clientName('summary', client)] : []),
    ],
  }
}

/** The smallest budget that a model takes which cannot be kept from thinking. */
const UNAVOIDABLE_BUDGET = 128

/** Undefined: it cannot be said, or not under this cap. */
function depthOf(spelled: EffortSpelling | undefined, outputCap: number): Depth | undefined {
  if (spelled === undefined) return undefined
  if (spelled === 'disabled') return { thinkingBudget: 0 }
  if (typeof spelled === 'string') return { thinkingLevel: spelled }
  const thinkingBudget = budgetWithin(spelled, outputCap, UNAVOIDABLE_BUDGET)
  return thinkingBudget === undefined ? undefined : { thinkingBudget }
}

interface Depth {
  readonly thinkingLevel?: string
  readonly thinkingBudget?: number
}
