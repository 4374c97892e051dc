import { type Fields, isObject } from '../../lib/is-object.ts'
import { effortOf } from '../../model/effort.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { tryParse } from '../json/try-parse.ts'
import type { EffortTarget } from './put-effort.ts'

const NOT_TO_THINK = effortOf('none')

/**
 * How hard a model shall think that goes on from these messages. A server that wants its reasoning back with every call
 * refuses to think on from calls that it has not thought about itself, or whose reasoning nobody has kept: then it does not
 * think, and everything else is as it was asked.
 */
export function fittingEffort<Target extends EffortTarget>(target: Target, messages: () => readonly unknown[]): Target {
  if (!target.dialect.reasoningBack || target.effort === NOT_TO_THINK) return target
  return messages().some(isUnthoughtCall) ? { ...target, effort: NOT_TO_THINK } : target
}

/** The effort that was asked for is not what the lane is told. */
export const losesEffort = (asked: EffortTarget, told: EffortTarget): boolean =>
  asked.effort !== undefined && asked.effort !== told.effort

function isUnthoughtCall(message: unknown): boolean {
  if (!isObject(message) || message.role !== 'assistant') return false
  const { tool_calls: calls, reasoning_content: thought } = message
  return Array.isArray(calls) && calls.length > 0 && (typeof thought !== 'string' || thought === '')
}

const CALLS = Buffer.from('"tool_calls"')

/** Of a relayed request; none where none of them can have called anything. */
export function messagesOf({ body, rewritten }: TurnRequest): readonly Fields[] {
  const member = body.members.find(({ name }) => name === 'messages')
  if (!member) return []
  const bytes = rewritten.get('messages') ?? body.bytes.subarray(member.valueStart, member.valueEnd)
  const messages = bytes.includes(CALLS) ? tryParse(bytes.toString('utf8')) : []
  return Array.isArray(messages) ? messages : []
}
