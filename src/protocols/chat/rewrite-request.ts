import { isObject } from '../../lib/types.ts'
import { type ChatRequest, memberBytes } from '../../model/turn.ts'
import { changesForLanes, type MemberChanges, optionalFieldsLeftOut } from '../fields/read-fields.ts'
import { spliceMembers } from '../json/elements.ts'
import { tryParse } from '../json/strings.ts'
import { type LaneRequest, type RelayTarget, saltFields } from '../shared/lane-target.ts'
import { clientName } from '../shared/texts.ts'
import type { ChatDialect } from './dialects.ts'
import { CHAT_FIELDS } from './fields.ts'
import { type FittedMessages, fitMessages } from './write-messages.ts'
import { messagesWithCalls, type PutEffort, putEffort } from './write-request.ts'

const USAGE_WANTED = '{"include_usage":true}'

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. Usage is always asked for, whether the client wants it or not.
 */
export function rewriteRequest(request: ChatRequest, target: RelayTarget<ChatDialect>): LaneRequest {
  const { dialect } = target
  const effort = putEffort(target, () => messagesWithCalls(request))
  const fitted = fitMessages(request, dialect)
  const leftOut = fieldsLeftOut(request, target, { effort, fitted })
  const changes = changesForLanes(request, CHAT_FIELDS)
  for (const name of leftOut) changes.set(name, null)
  renameFields(request, dialect, changes)
  if (fitted.messages !== undefined) changes.set('messages', fitted.messages)
  changes.set('model', JSON.stringify(target.model))
  if (target.delivery === 'stream') {
    changes.set('stream', 'true')
    if (dialect.usageOption) changes.set('stream_options', USAGE_WANTED)
  }
  for (const [name, value] of Object.entries(effort.fields)) {
    changes.set(name, JSON.stringify(withTheirs(request, name, value)))
  }
  changes.set(dialect.capField, JSON.stringify(target.outputCap))
  for (const [name, salt] of Object.entries(saltFields(target))) changes.set(name, JSON.stringify(salt))
  if (request.choices !== 1) changes.set('n', JSON.stringify(request.choices))
  return { body: spliceMembers(request.body, changes), leftOut }
}

interface Told {
  readonly effort: PutEffort
  readonly fitted: FittedMessages
}

/**
 * The fields of this request that a lane does not get: optional ones that nobody passes on, standard ones that the server
 * refuses, and what says of the effort something else than we do.
 */
function fieldsLeftOut(request: ChatRequest, target: RelayTarget<ChatDialect>, { effort, fitted }: Told): string[] {
  const { dialect } = target
  const contradicting = Object.keys(effort.fields).length === 0 ? [] : dialect.effortSwitches
  const unwanted = [...dialect.withoutFields, ...contradicting]
  const refused = request.body.members.flatMap(({ name }) => (unwanted.includes(name) ? [name] : []))
  const named = [
    ...(effort.isLost ? [clientName('effort', 'chat')] : []),
    ...(fitted.withoutNames ? [clientName('messageName', 'chat')] : []),
  ]
  return [...new Set([...optionalFieldsLeftOut(request, target), ...refused, ...named])]
}

/** Of an object that the client may have filled itself, as the arguments of a template, only what we say is changed. */
function withTheirs({ body }: ChatRequest, name: string, ours: unknown): unknown {
  if (name !== 'chat_template_kwargs') return ours
  const theirs = tryParse(memberBytes(body, name)?.toString('utf8') ?? '')
  return isObject(theirs) && isObject(ours) ? { ...theirs, ...ours } : ours
}

function renameFields({ body }: ChatRequest, dialect: ChatDialect, changes: MemberChanges): void {
  for (const from in dialect.renamedFields) {
    const to = dialect.renamedFields[from]!
    const value = memberBytes(body, from)
    if (value === undefined || changes.get(from) === null) continue
    changes.set(from, null)
    changes.set(to, value)
  }
}

/** Custom tools, declared or in the history, become functions on a server that has only those: such a request is translated. */
export const canRewrite = ({ toolKinds, choices }: ChatRequest, { customTools }: ChatDialect): boolean =>
  customTools || choices > 1 || !toolKinds.includes('custom')
