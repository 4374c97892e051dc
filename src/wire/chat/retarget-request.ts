import type { Effort } from '../../model/effort.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { arrayElements } from '../json/array-elements.ts'
import { INNER_BOUNDS } from '../json/inner-bounds.ts'
import { scanJson } from '../json/scan-json.ts'
import { spliceMembers } from '../json/splice-members.ts'
import type { ChatDialect } from './dialects.ts'
import { CHAT_FIELDS } from './fields.ts'

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
  for (const { name } of turn.body.members) {
    const policy = CHAT_FIELDS[name]?.policy
    if (policy === 'control' || policy === 'standard-only' || policy === 'refused') changes.set(name, null)
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
const SYSTEM = '"system"'

/** Servers that know only `system` refuse a developer's message, or take it for a user's. */
function hideDeveloperRole(turn: TurnRequest, changes: Map<string, Buffer | string | null>): void {
  const member = turn.body.members.find(({ name }) => name === 'messages')
  if (!member) return
  const messages = turn.body.bytes.subarray(member.valueStart, member.valueEnd)
  if (!messages.includes(DEVELOPER)) return
  const written = arrayElements(messages).map((message) => {
    if (!message.includes(DEVELOPER) || JSON.parse(message.toString('utf8')).role !== 'developer') return message
    const scanned = scanJson(message, INNER_BOUNDS)
    if (scanned.kind !== 'scanned') throw new Error('A message that was parsed cannot be scanned')
    return spliceMembers({ bytes: message, members: scanned.members }, new Map([['role', SYSTEM]]))
  })
  changes.set('messages', Buffer.concat([Buffer.from('['), ...joined(written), Buffer.from(']')]))
}

const COMMA = Buffer.from(',')
const joined = (parts: readonly Buffer[]): Buffer[] => parts.flatMap((part, at) => (at === 0 ? [part] : [COMMA, part]))
