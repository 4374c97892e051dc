import type { Fields } from '../../lib/is-object.ts'
import { budgetWithin } from '../../model/budget-within.ts'
import type { Effort } from '../../model/effort.ts'
import type { EffortSpelling } from '../../model/model-traits.ts'
import { spellEffort } from '../../model/spell-effort.ts'
import type { ChatDialect } from './dialects.ts'

/** The fields in which a server reads how hard its model shall think. */
export type EffortManner = keyof typeof MANNERS

export interface PutEffort {
  readonly fields: Fields
  /** Something of it could not be said: the client is told. */
  readonly isLost: boolean
}

export interface EffortTarget {
  readonly effort: Effort | undefined
  readonly outputCap: number
  readonly dialect: ChatDialect
}

const NOTHING: PutEffort = { fields: {}, isLost: false }

/** An effort as this model and its server read it; fields that the server has turned out not to take are not among them. */
export function putEffort({ effort, outputCap, dialect }: EffortTarget): PutEffort {
  if (effort === undefined) return NOTHING
  const spelling = fittingIn(outputCap, spellEffort(dialect.traits.efforts, effort))
  const said = spelling === undefined ? undefined : MANNERS[dialect.effort](spelling)
  if (said === undefined) return { fields: {}, isLost: true }
  const taken = Object.entries(said).filter(([name]) => !dialect.withoutFields.includes(name))
  return { fields: Object.fromEntries(taken), isLost: taken.length < Object.keys(said).length }
}

/** Servers refuse to think with fewer tokens than this. */
const BUDGET_MIN = 1024

function fittingIn(outputCap: number, spelling: EffortSpelling | undefined): EffortSpelling | undefined {
  if (typeof spelling !== 'number') return spelling
  const budget = budgetWithin(spelling, outputCap)
  return budget < Math.min(spelling, BUDGET_MIN) ? undefined : budget
}

/** By the spelling; undefined where the server has no place for it. */
const MANNERS = {
  /** The protocol's own word. */
  word: (spelling: EffortSpelling) => word(spelling === 'disabled' ? 'none' : spelling),

  /** OpenRouter: an object, in which a number of tokens has a place too. */
  object: (spelling: EffortSpelling) => {
    if (typeof spelling === 'number') return { reasoning: { max_tokens: spelling } }
    return { reasoning: { effort: spelling === 'disabled' ? 'none' : spelling } }
  },

  /** DeepSeek: a switch, and the word beside it. */
  'switch-and-word': (spelling: EffortSpelling) => {
    if (spelling === 'disabled') return { thinking: { type: 'disabled' } }
    const said = word(spelling)
    return said && { thinking: { type: 'enabled' }, ...said }
  },

  /** Moonshot: models that have the word think always, and take no switch. */
  'word-or-switch': (spelling: EffortSpelling) =>
    spelling === 'disabled' ? { thinking: { type: 'disabled' } } : word(spelling),

  /** Alibaba: a switch and a number of tokens; of words it takes only that there is to be thinking. */
  budget: (spelling: EffortSpelling) => {
    if (spelling === 'disabled') return { enable_thinking: false }
    return typeof spelling === 'number'
      ? { enable_thinking: true, thinking_budget: spelling }
      : { enable_thinking: true }
  },

  /** Servers that anybody can run: whether a model thinks is decided by the template of its prompt. */
  template: (spelling: EffortSpelling) =>
    spelling === 'disabled' ? { chat_template_kwargs: { enable_thinking: false } } : word(spelling),
} as const satisfies Record<string, (spelling: EffortSpelling) => Fields | undefined>

const word = (spelling: EffortSpelling): Fields | undefined =>
  typeof spelling === 'string' ? { reasoning_effort: spelling } : undefined
