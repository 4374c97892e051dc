import { type Fields, isObject } from '../../lib/types.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { changesForLanes, optionalFieldsLeftOut } from '../fields/read-fields.ts'
import { jsonArray, spliceMembers, tryParse, writtenMember } from '../json/bytes.ts'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import { type LaneRequest, type RelayTarget, saltFields } from '../shared/lane-target.ts'
import { clientName } from '../shared/texts.ts'
import { includeFor, LOGPROBS, type ResponsesDialect, takesLogprobs } from './dialects.ts'
import { RESPONSES_FIELDS, requestedField } from './fields.ts'
import { inputElements } from './input-items.ts'
import { effortName, isEffortLost } from './write-request.ts'

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. No lane keeps state for us.
 */
export function rewriteRequest(request: ResponsesRequest, target: RelayTarget<ResponsesDialect>): LaneRequest {
  const { dialect, origin } = target
  const leftOut = fieldsLeftOut(request, target)
  const isWithout = (name: string): boolean => dialect.withoutFields.includes(name) || leftOut.includes(name)
  const changes = changesForLanes(request, RESPONSES_FIELDS)
  for (const name of leftOut) changes.set(name, null)
  changes.set('previous_response_id', null)
  changes.set('model', JSON.stringify(target.model))
  changes.set('stream', target.delivery === 'stream' ? 'true' : null)
  changes.set('max_output_tokens', JSON.stringify(target.outputCap))
  changes.set('store', isWithout('store') ? null : 'false')
  changes.set('reasoning', isWithout('reasoning') ? null : reasoningFor(request, target, isWithout))
  const include = includeFor(dialect, { logprobs: asksFor(request, LOGPROBS) })
  changes.set('include', include.length === 0 || isWithout('include') ? null : JSON.stringify(include))
  for (const [name, salt] of Object.entries(saltFields(target))) changes.set(name, JSON.stringify(salt))
  const written = writtenMember(request, 'input')
  if (written !== undefined) changes.set('input', rewriteInput(written, { dialect, origin, sealed: request.sealed }))
  return { body: spliceMembers(request.body, changes), leftOut }
}

/**
 * The fields of this request that a lane does not get: optional ones that nobody passes on, standard ones that the server
 * refuses, and an effort that it cannot be told. What we decide on is not the client's to miss.
 */
function fieldsLeftOut(request: ResponsesRequest, target: RelayTarget<ResponsesDialect>): string[] {
  const { dialect } = target
  const refused = request.body.members.flatMap(({ name }) =>
    dialect.withoutFields.includes(name) && !WITHOUT_LOSS.has(name) ? [name] : [],
  )
  const probabilities = asksFor(request, LOGPROBS) && !takesLogprobs(dialect) ? ['include'] : []
  const effort = isEffortLost(target) ? [clientName('effort', 'responses')] : []
  return [...new Set([...optionalFieldsLeftOut(request, target), ...refused, ...probabilities, ...effort])]
}

/** The response is stored here, and the lane keeps no state: whether it knows these fields makes no difference. */
const WITHOUT_LOSS = new Set(['store', 'previous_response_id'])

function asksFor(request: ResponsesRequest, what: string): boolean {
  const include = requestedField(request, 'include')
  return Array.isArray(include) && include.includes(what)
}

/** How it wants to be told of the reasoning stays; what changes the price is not among it. */
const REASONING_KEPT = ['summary', 'generate_summary', 'context']

function reasoningFor(
  request: ResponsesRequest,
  target: RelayTarget<ResponsesDialect>,
  isWithout: (path: string) => boolean,
): string | null {
  const effort = effortName(target)
  const said = requestedField(request, 'reasoning')
  const asked = isObject(said) ? said : {}
  const reasoning: Record<string, unknown> = effort === undefined ? {} : { effort }
  for (const name of REASONING_KEPT) {
    if (asked[name] !== undefined && asked[name] !== null && !isWithout(`reasoning.${name}`))
      reasoning[name] = asked[name]
  }
  return Object.keys(reasoning).length === 0 ? null : JSON.stringify(reasoning)
}

/**
 * Whether a request can go to a lane as its client wrote it. A compacted conversation can only go to the lane that compacted it;
 * any other needs a server that takes all its kinds of tools.
 */
export const canRewrite = ({ toolKinds, boundTo }: ResponsesRequest, { nativeTools }: ResponsesDialect): boolean =>
  boundTo !== undefined || toolKinds.every((kind) => nativeTools.includes(kind))

/** Who the items go to, and what the sealed ones among them hold. */
interface InputTarget extends Pick<ResponsesRequest, 'sealed'> {
  readonly dialect: ResponsesDialect
  readonly origin: string
}

/**
 * The items of an input as a lane may get them. Ids are ours or the client's and mean nothing to the lane: one that keeps no
 * state looks for them and finds nothing, and sealed reasoning is refused under any id but its first. Without an id every
 * item is taken for what it says. An input without ids is rewritten in the same way, and a string becomes a message, so that it
 * stays a prefix of later inputs.
 */
export const rewriteInput = (input: Buffer, target: InputTarget): Buffer =>
  jsonArray(inputElements(input).flatMap((item) => retargetItem(item, target) ?? []))

const ID = Buffer.from('"id"')
const REASONING = Buffer.from('"reasoning"')

/** Undefined where nothing of the item would be of use. */
function retargetItem(item: Buffer, target: InputTarget): Buffer | undefined {
  const mayReason = item.includes(REASONING)
  if (!mayReason && !item.includes(ID)) return item
  const scanned = scanJson(item, INNER_BOUNDS)
  if (scanned.kind !== 'scanned') return item
  const value = mayReason ? tryParse(item.toString('utf8')) : undefined
  const changes = isObject(value) && value.type === 'reasoning' ? changesOfReasoning(value, target) : WITHOUT_ID
  return changes && spliceMembers({ bytes: item, members: scanned.members }, changes)
}

const WITHOUT_ID: ReadonlyMap<string, string | null> = new Map([['id', null]])

/**
 * A server takes back what it has sealed itself, wants a summary with it and refuses the words beside it. One that does not
 * seal takes words and throws at a seal; what is neither its own nor in words for it is left out.
 */
function changesOfReasoning(
  { encrypted_content: envelope, summary, content }: Fields,
  target: InputTarget,
): ReadonlyMap<string, string | null> | undefined {
  const changes = new Map<string, string | null>([['id', null]])
  const seal = opaqueForLane(typeof envelope === 'string' ? target.sealed.get(envelope) : undefined, target)
  if (seal === undefined) {
    const goesInWords = !target.dialect.sealsReasoning && (isFilled(content) || isFilled(summary))
    return goesInWords ? changes.set('encrypted_content', null) : undefined
  }
  changes.set('encrypted_content', JSON.stringify(seal))
  if (!Array.isArray(summary)) changes.set('summary', '[]')
  return changes.set('status', null).set('content', null)
}

const isFilled = (parts: unknown): boolean => Array.isArray(parts) && parts.length > 0
