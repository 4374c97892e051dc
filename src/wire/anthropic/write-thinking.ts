import type { Fields } from '../../lib/is-object.ts'
import { effortOf, spellEffort } from '../../model/effort.ts'
import type { EffortSpellings } from '../../model/model-traits.ts'
import { BUDGET_MIN, budgetWithin } from '../budget-within.ts'
import type { LaneTarget } from '../lane-target.ts'
import type { AnthropicDialect } from './dialects.ts'

/** How the model is to think. */
export interface ThinkingPlan {
  readonly thinking?: Fields
  readonly effort?: string
  /** It was told to, or may; not to is what `off` says. */
  readonly state: 'on' | 'off' | 'unsaid'
  /** What the client asked for cannot be had in this request. */
  readonly isLost: boolean
}

/** What decides it, besides the effort. */
interface ThinkingCase {
  readonly target: Pick<LaneTarget<AnthropicDialect>, 'effort' | 'dialect' | 'outputCap'>
  /** The client wants to be told what was thought. */
  readonly wantsSummary: boolean
  /** It has to call a tool now. */
  readonly isForced: boolean
  /** The calls that it is to go on from were not made with thinking of its own. */
  readonly isForeign: boolean
}

const UNSAID: ThinkingPlan = { state: 'unsaid', isLost: false }

export function planThinking(asked: ThinkingCase): ThinkingPlan {
  const { effort, dialect, outputCap } = asked.target
  const { efforts } = dialect.traits
  if (dialect.withoutFields.includes('thinking')) return { ...UNSAID, isLost: effort !== undefined }
  const shown = asked.wantsSummary && dialect.thinkingDisplay ? { display: 'summarized' } : {}
  if (effort === undefined) {
    const decidesItself = Object.values(efforts ?? {}).some(isEffortWord)
    if (!decidesItself || !('display' in shown)) return UNSAID
    return { ...UNSAID, thinking: { type: 'adaptive', ...shown }, state: 'on' }
  }
  const spelled = spellEffort(efforts, effort)
  if (spelled === undefined) return { ...UNSAID, isLost: true }
  if (spelled === 'disabled' || spelled === 0) return { ...OFF, isLost: false }
  if (spelled === 'between_tools') return { thinking: { type: spelled }, state: 'on', isLost: false }
  if (typeof spelled === 'string') {
    return { thinking: { type: 'adaptive', ...shown }, effort: spelled, state: 'on', isLost: false }
  }
  const budget = spelled < BUDGET_MIN ? undefined : budgetWithin(spelled, outputCap)
  // None of these goes together with a budget: it would be a 400.
  if (budget === undefined || asked.isForced || asked.isForeign) return offInstead(efforts)
  return { thinking: { type: 'enabled', budget_tokens: budget, ...shown }, state: 'on', isLost: false }
}

const OFF = { thinking: { type: 'disabled' }, state: 'off' } as const

const NONE = effortOf('none')

/** Some models cannot be told not to think. */
const offInstead = (efforts: EffortSpellings | undefined): ThinkingPlan =>
  spellEffort(efforts, NONE) === 'disabled' ? { ...OFF, isLost: true } : { state: 'off', isLost: true }

const isEffortWord = (spelling: unknown): boolean =>
  typeof spelling === 'string' && spelling !== 'disabled' && spelling !== 'between_tools'
