import { type Fields, isObject } from '../../lib/is-object.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { arrayElements, jsonArray } from '../json/array-elements.ts'
import { writtenMember } from '../json/members.ts'
import { spliceElement } from '../json/splice-members.ts'
import { callIdFor } from './call-ids.ts'
import type { ChatDialect } from './dialects.ts'

export interface FittedMessages {
  /** Undefined: they may stay as they are. */
  readonly messages: Buffer | undefined
  /** Somebody's name went, because the server refuses them. */
  readonly withoutNames: boolean
}

const UNCHANGED: FittedMessages = { messages: undefined, withoutNames: false }

/** The messages of a client as one server takes them. Only those are written anew in which something is not as it should be. */
export function fitMessages(request: TurnRequest, dialect: ChatDialect): FittedMessages {
  const bytes = writtenMember(request, 'messages')
  if (bytes === undefined) return UNCHANGED
  const suspects = SUSPICIONS.filter(({ isNeeded }) => isNeeded(dialect)).map(({ sign }) => sign)
  if (!suspects.some((sign) => bytes.includes(sign))) return UNCHANGED
  const elements = arrayElements(bytes)
  let withoutNames = false
  let isChanged = false
  const written = elements.map((element, at) => {
    if (!suspects.some((sign) => element.includes(sign))) return element
    const message: Fields = JSON.parse(element.toString('utf8'))
    const changes = changesOf(message, dialect, at === elements.length - 1)
    if (changes.size === 0) return element
    isChanged = true
    withoutNames ||= changes.get('name') === null
    return spliceElement(element, changes)
  })
  return isChanged ? { messages: jsonArray(written), withoutNames } : UNCHANGED
}

/** What a message that does not fit has in it: most have none of these, and need not be parsed. */
const SUSPICIONS: readonly { readonly sign: Buffer; readonly isNeeded: (dialect: ChatDialect) => boolean }[] = [
  { sign: Buffer.from('developer'), isNeeded: ({ developerRole }) => !developerRole },
  { sign: Buffer.from('"name"'), isNeeded: ({ messageNames }) => !messageNames },
  { sign: Buffer.from('"tool_call'), isNeeded: ({ callIds }) => callIds !== 'any' },
  { sign: Buffer.from('assistant'), isNeeded: ({ prefill }) => prefill !== 'plain' },
]

function changesOf(message: Fields, dialect: ChatDialect, isLast: boolean): Map<string, string | null> {
  const changes = new Map<string, string | null>()
  const { role, name, tool_call_id: answers, tool_calls: calls } = message
  // Servers that know only `system` refuse a developer's message, or take it for a user's.
  if (role === 'developer' && !dialect.developerRole) changes.set('role', '"system"')
  if (name !== undefined && !dialect.messageNames) changes.set('name', null)
  if (dialect.callIds !== 'any') {
    if (typeof answers === 'string') changes.set('tool_call_id', JSON.stringify(callIdFor(answers, dialect)))
    if (Array.isArray(calls)) changes.set('tool_calls', JSON.stringify(calls.map((call) => fitCall(call, dialect))))
  }
  if (isLast && isPrefill(message) && dialect.prefill === 'prefix') changes.set('prefix', 'true')
  return changes
}

const fitCall = (call: unknown, dialect: ChatDialect): unknown =>
  isObject(call) && typeof call.id === 'string' ? { ...call, id: callIdFor(call.id, dialect) } : call

/** The beginning of the answer, which the model shall go on from. */
export const isPrefill = ({ role, tool_calls }: Fields): boolean => role === 'assistant' && tool_calls === undefined
