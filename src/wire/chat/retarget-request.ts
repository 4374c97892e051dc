import { isObject } from '../../lib/is-object.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { clientName } from '../client-names.ts'
import { isNullMember } from '../json/members.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { tryParse } from '../json/try-parse.ts'
import { type CacheSalt, saltFields } from '../lane-target.ts'
import type { ChatDialect } from './dialects.ts'
import { CHAT_FIELDS } from './fields.ts'
import { fitMessages } from './fit-messages.ts'
import { type EffortTarget, fittingEffort, losesEffort, messagesOf, putEffort } from './write-thinking.ts'

/** What the lane is told in place of what the client wrote. */
export interface ChatTarget extends EffortTarget {
  readonly model: string
  readonly cacheSalt: CacheSalt
  /** Fields of the client that this lane does not get. */
  readonly leftOut: readonly string[]
}

/**
 * The fields of this request that a lane does not get: optional ones that neither its dialect nor the operator passes on,
 * standard ones that the server refuses, and what says of the effort something else than we do.
 */
export function fieldsLeftOut(turn: TurnRequest, target: EffortTarget, passFields: readonly string[]): string[] {
  const { dialect } = target
  const optional = turn.optionalFields.filter(
    (field) => !passFields.includes(field) && !dialect.extraFields.includes(field),
  )
  const told = fittingEffort(target, () => messagesOf(turn))
  const effort = putEffort(told)
  const contradicting = Object.keys(effort.fields).length === 0 ? [] : dialect.effortSwitches
  const unwanted = [...dialect.withoutFields, ...contradicting]
  const refused = turn.body.members.flatMap(({ name }) => (unwanted.includes(name) ? [name] : []))
  const named = [
    ...(effort.isLost || losesEffort(target, told) ? [clientName('effort', 'chat')] : []),
    ...(fitMessages(turn, dialect).withoutNames ? [clientName('messageName', 'chat')] : []),
  ]
  return [...new Set([...optional, ...refused, ...named])]
}

const USAGE_WANTED = '{"include_usage":true}'

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. Usage is always asked for, whether the client wants it or not.
 */
export function retargetRequest(turn: TurnRequest, target: ChatTarget): Buffer {
  const { dialect } = target
  const changes = new Map<string, Buffer | string | null>(turn.rewritten)
  for (const member of turn.body.members) {
    const { name } = member
    const policy = CHAT_FIELDS[name]?.policy
    if (policy === 'control' || policy === 'standard-only' || policy === 'refused') changes.set(name, null)
    else if (isNullMember(turn.body, member)) changes.set(name, null)
  }
  for (const name of target.leftOut) changes.set(name, null)
  renameFields(turn, dialect, changes)
  const { messages } = fitMessages(turn, dialect)
  if (messages !== undefined) changes.set('messages', messages)
  changes.set('model', JSON.stringify(target.model))
  if (turn.delivery === 'stream') {
    changes.set('stream', 'true')
    if (dialect.usageOption) changes.set('stream_options', USAGE_WANTED)
  }
  const told = fittingEffort(target, () => messagesOf(turn))
  for (const [name, value] of Object.entries(putEffort(told).fields)) {
    changes.set(name, JSON.stringify(withTheirs(turn, name, value)))
  }
  changes.set(dialect.capField, JSON.stringify(target.outputCap))
  for (const [name, salt] of Object.entries(saltFields(target))) changes.set(name, JSON.stringify(salt))
  if (turn.choices !== 1) changes.set('n', JSON.stringify(turn.choices))
  return spliceMembers(turn.body, changes)
}

/** Of an object that the client may have filled itself, as the arguments of a template, only what we say is changed. */
function withTheirs({ body }: TurnRequest, name: string, ours: unknown): unknown {
  if (name !== 'chat_template_kwargs') return ours
  const member = body.members.find((candidate) => candidate.name === name)
  const theirs = member && tryParse(body.bytes.toString('utf8', member.valueStart, member.valueEnd))
  return isObject(theirs) && isObject(ours) ? { ...theirs, ...ours } : ours
}

function renameFields(turn: TurnRequest, dialect: ChatDialect, changes: Map<string, Buffer | string | null>): void {
  for (const from in dialect.renamedFields) {
    const to = dialect.renamedFields[from]!
    const member = turn.body.members.find(({ name }) => name === from)
    if (!member || changes.get(from) === null) continue
    changes.set(from, null)
    changes.set(to, turn.body.bytes.subarray(member.valueStart, member.valueEnd))
  }
}
