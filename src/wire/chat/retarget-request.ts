import type { Effort } from '../../model/effort.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { isNullMember } from '../fields/null-members.ts'
import { arrayElements } from '../json/array-elements.ts'
import { jsonArray } from '../json/json-array.ts'
import { spliceMembers } from '../json/splice-members.ts'
import type { ChatDialect } from './dialects.ts'
import { CHAT_FIELDS } from './fields.ts'
import { withChanges } from './mend-messages.ts'

/** What the lane is told in place of what the client wrote. */
export interface ChatTarget {
  readonly model: string
  readonly effort: Effort | undefined
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  readonly dialect: ChatDialect
  /** Fields of the client that this lane does not get. */
  readonly leftOut: readonly string[]
}

/**
 * The fields of this request that a lane does not get: optional ones that neither its dialect nor the operator passes on,
 * and standard ones that the server refuses.
 */
export function fieldsLeftOut(turn: TurnRequest, dialect: ChatDialect, passFields: readonly string[]): string[] {
  const optional = turn.optionalFields.filter(
    (field) => !passFields.includes(field) && !dialect.extraFields.includes(field),
  )
  if (dialect.withoutFields.length === 0) return optional
  const refused = turn.body.members.flatMap(({ name }) => (dialect.withoutFields.includes(name) ? [name] : []))
  return [...optional, ...refused]
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
  if (!dialect.developerRole) hideDeveloperRole(turn, changes)
  changes.set('model', JSON.stringify(target.model))
  if (turn.delivery === 'stream') {
    changes.set('stream', 'true')
    if (dialect.usageOption) changes.set('stream_options', USAGE_WANTED)
  }
  if (target.effort !== undefined && !target.leftOut.includes(dialect.effort)) {
    changes.set(
      dialect.effort,
      dialect.effort === 'reasoning' ? JSON.stringify({ effort: target.effort }) : JSON.stringify(target.effort),
    )
  }
  changes.set(dialect.capField, JSON.stringify(target.outputCap))
  if (turn.choices !== 1) changes.set('n', JSON.stringify(turn.choices))
  return spliceMembers(turn.body, changes)
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

const DEVELOPER = Buffer.from('developer')
const AS_SYSTEM: ReadonlyMap<string, string> = new Map([['role', '"system"']])

/** Servers that know only `system` refuse a developer's message, or take it for a user's. */
function hideDeveloperRole({ body }: TurnRequest, changes: Map<string, Buffer | string | null>): void {
  const member = body.members.find(({ name }) => name === 'messages')
  if (!member) return
  const mended = changes.get('messages')
  const messages = Buffer.isBuffer(mended) ? mended : body.bytes.subarray(member.valueStart, member.valueEnd)
  if (!messages.includes(DEVELOPER)) return
  const written = arrayElements(messages).map((message) => {
    const isTheirs = message.includes(DEVELOPER) && JSON.parse(message.toString('utf8')).role === 'developer'
    return isTheirs ? withChanges(message, AS_SYSTEM) : message
  })
  changes.set('messages', jsonArray(written))
}
