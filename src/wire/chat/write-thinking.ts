import { type Fields, isObject } from '../../lib/is-object.ts'
import { budgetWithin } from '../../model/budget-within.ts'
import { type Effort, effortOf } from '../../model/effort.ts'
import type { EffortSpelling } from '../../model/model-traits.ts'
import { spellEffort } from '../../model/spell-effort.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { writtenMember } from '../json/members.ts'
import { tryParse } from '../json/try-parse.ts'
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

/**
 * An effort as this model and its server read it, for a request with these messages; fields that the server has turned out
 * not to take are not among them.
 */
export function putEffort(target: EffortTarget, messages: () => readonly unknown[]): PutEffort {
  const effort = fittingEffort(target, messages)
  const put = spellFor({ ...target, effort })
  const isAnother = target.effort !== undefined && target.effort !== effort
  return isAnother ? { ...put, isLost: true } : put
}

function spellFor({ effort, outputCap, dialect }: EffortTarget): PutEffort {
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

const NOT_TO_THINK = effortOf('none')

/**
 * How hard a model shall think that goes on from these messages. A server that wants its reasoning back with every call
 * refuses to think on from calls that it has not thought about itself, or whose reasoning nobody has kept: then it does not
 * think, and everything else is as it was asked.
 */
function fittingEffort({ dialect, effort }: EffortTarget, messages: () => readonly unknown[]): Effort | undefined {
  return dialect.reasoningBack && effort !== NOT_TO_THINK && messages().some(isUnthoughtCall) ? NOT_TO_THINK : effort
}

function isUnthoughtCall(message: unknown): boolean {
  if (!isObject(message) || message.role !== 'assistant') return false
  const { tool_calls: calls, reasoning_content: thought } = message
  return Array.isArray(calls) && calls.length > 0 && (typeof thought !== 'string' || thought === '')
}

const CALLS = Buffer.from('"tool_calls"')

/** The messages of a request that is relayed, for who looks for calls: none where none of them can have called anything. */
export function messagesWithCalls(turn: TurnRequest): readonly Fields[] {
  const bytes = writtenMember(turn, 'messages')
  const messages = bytes?.includes(CALLS) ? tryParse(bytes.toString('utf8')) : []
  return Array.isArray(messages) ? messages : []
}
