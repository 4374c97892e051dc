import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Effort, effortOf, spellEffort } from '../../model/effort.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { budgetWithin } from '../budget-within.ts'
import { writtenMember } from '../json/members.ts'
import { tryParse } from '../json/try-parse.ts'
import type { ChatDialect } from './dialects.ts'
import { EFFORT_MANNERS } from './effort-manners.ts'

export interface PutEffort {
  readonly fields: Fields
  /** Something of it could not be said: the client is told. */
  readonly isLost: boolean
}

interface EffortTarget {
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
  const spelled = spellEffort(dialect.traits.efforts, effort)
  const spelling = typeof spelled === 'number' ? budgetWithin(spelled, outputCap) : spelled
  const said = spelling === undefined ? undefined : EFFORT_MANNERS[dialect.effort](spelling)
  if (said === undefined) return { fields: {}, isLost: true }
  const taken = Object.entries(said).filter(([name]) => !dialect.withoutFields.includes(name))
  return { fields: Object.fromEntries(taken), isLost: taken.length < Object.keys(said).length }
}

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
export function messagesWithCalls(request: TurnRequest): readonly Fields[] {
  const bytes = writtenMember(request, 'messages')
  const messages = bytes?.includes(CALLS) ? tryParse(bytes.toString('utf8')) : []
  return Array.isArray(messages) ? messages : []
}
