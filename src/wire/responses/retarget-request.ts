import { isObject } from '../../lib/is-object.ts'
import type { RequestBody, ResponsesRequest } from '../../model/turn.ts'
import { clientName } from '../client-names.ts'
import { isNullMember } from '../json/members.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { type CacheSalt, saltFields } from '../lane-target.ts'
import { includeFor, LOGPROBS, type NativeTool, type ResponsesDialect, takesLogprobs } from './dialects.ts'
import { RESPONSES_FIELDS } from './fields.ts'
import { type InputTarget, retargetInput } from './retarget-input.ts'
import { effortWord, isEffortLost, type WordTarget } from './write-thinking.ts'

/** What the lane is told in place of what the client wrote. */
export interface ResponsesTarget extends WordTarget {
  readonly model: string
  /** Whose seals it can open. */
  readonly origin: string
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  readonly cacheSalt: CacheSalt
  /** Fields of the client that this lane does not get. */
  readonly leftOut: readonly string[]
}

/**
 * The fields of this request that a lane does not get: optional ones that neither its dialect nor the operator passes on,
 * standard ones that the server refuses, and an effort that it cannot be told. What we decide on is not the client's to miss.
 */
export function fieldsLeftOut(turn: ResponsesRequest, target: WordTarget, passFields: readonly string[]): string[] {
  const { dialect } = target
  const optional = turn.optionalFields.filter(
    (field) => !passFields.includes(field) && !dialect.extraFields.includes(field),
  )
  const refused = turn.body.members.flatMap(({ name }) =>
    dialect.withoutFields.includes(name) && !WITHOUT_LOSS.has(name) ? [name] : [],
  )
  const probabilities = asksFor(turn, LOGPROBS) && !takesLogprobs(dialect) ? ['include'] : []
  const effort = isEffortLost(target) ? [clientName('effort', 'responses')] : []
  return [...new Set([...optional, ...refused, ...probabilities, ...effort])]
}

/** The response is stored here, and the lane keeps no state: whether it knows these fields makes no difference. */
const WITHOUT_LOSS = new Set(['store', 'previous_response_id'])

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. No lane keeps state for us.
 */
export function retargetRequest(turn: ResponsesRequest, target: ResponsesTarget): Buffer {
  const { dialect } = target
  const isWithout = (name: string): boolean => dialect.withoutFields.includes(name) || target.leftOut.includes(name)
  const changes = new Map<string, Buffer | string | null>(turn.rewritten)
  for (const member of turn.body.members) {
    const { name } = member
    const policy = RESPONSES_FIELDS[name]?.policy
    if (policy === 'control' || policy === 'standard-only' || policy === 'refused') changes.set(name, null)
    else if (isNullMember(turn.body, member)) changes.set(name, null)
  }
  for (const name of target.leftOut) changes.set(name, null)
  changes.set('previous_response_id', null)
  changes.set('model', JSON.stringify(target.model))
  changes.set('stream', turn.delivery === 'stream' ? 'true' : null)
  changes.set('max_output_tokens', JSON.stringify(target.outputCap))
  changes.set('store', isWithout('store') ? null : 'false')
  changes.set('reasoning', isWithout('reasoning') ? null : reasoningFor(turn, target))
  const include = includeFor(dialect, { logprobs: asksFor(turn, LOGPROBS) })
  changes.set('include', include.length === 0 || isWithout('include') ? null : JSON.stringify(include))
  for (const [name, salt] of Object.entries(saltFields(target))) changes.set(name, JSON.stringify(salt))
  const input = retargetedInput(turn.body, changes, { dialect, origin: target.origin, sealed: turn.sealed })
  if (input !== undefined) changes.set('input', input)
  return spliceMembers(turn.body, changes)
}

const asksFor = ({ fields }: ResponsesRequest, what: string): boolean =>
  Array.isArray(fields.include) && fields.include.includes(what)

/** How it wants to be told of the reasoning stays; what changes the price is not among it. */
const REASONING_KEPT = ['summary', 'generate_summary', 'context']

function reasoningFor({ fields }: ResponsesRequest, target: ResponsesTarget): string | null {
  const { leftOut, dialect } = target
  const effort = effortWord(target)
  const asked = isObject(fields.reasoning) ? fields.reasoning : {}
  const reasoning: Record<string, unknown> = effort === undefined ? {} : { effort }
  for (const name of REASONING_KEPT) {
    const path = `reasoning.${name}`
    const isLeft = leftOut.includes(path) || dialect.withoutFields.includes(path)
    if (asked[name] !== undefined && asked[name] !== null && !isLeft) reasoning[name] = asked[name]
  }
  return Object.keys(reasoning).length === 0 ? null : JSON.stringify(reasoning)
}

function retargetedInput(
  body: RequestBody,
  changes: ReadonlyMap<string, Buffer | string | null>,
  target: InputTarget,
): Buffer | undefined {
  const changed = changes.get('input')
  if (Buffer.isBuffer(changed)) return retargetInput(changed, target)
  const member = body.members.find(({ name }) => name === 'input')
  return member && retargetInput(body.bytes.subarray(member.valueStart, member.valueEnd), target)
}

/** What a request has in it that needs more than functions, now or in its history. */
const SIGNS: Readonly<Record<NativeTool, readonly Buffer[]>> = {
  custom: ['"custom"', '"custom_tool_call"', '"custom_tool_call_output"'].map((sign) => Buffer.from(sign)),
  namespace: ['"namespace"', '"additional_tools"'].map((sign) => Buffer.from(sign)),
}

/**
 * Whether a server takes all kinds of tools in this request. The same words in a text may say no where there is none: then
 * the request is translated for nothing, which is no harm.
 */
export function takesToolsOf({ nativeTools }: ResponsesDialect, { body }: ResponsesRequest): boolean {
  return Object.entries(SIGNS).every(
    ([kind, signs]) => nativeTools.includes(kind as NativeTool) || !signs.some((sign) => body.bytes.includes(sign)),
  )
}
