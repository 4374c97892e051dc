import { isObject } from '../../lib/is-object.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { clientName } from '../client-names.ts'
import { changesForLanes, optionalFieldsLeftOut } from '../fields/retarget-fields.ts'
import { writtenMember } from '../json/members.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { type LaneRequest, type RelayTarget, saltFields } from '../lane-target.ts'
import { askedField } from './asked-field.ts'
import { includeFor, LOGPROBS, type ResponsesDialect, takesLogprobs } from './dialects.ts'
import { RESPONSES_FIELDS } from './fields.ts'
import { retargetInput } from './retarget-input.ts'
import { effortWord, isEffortLost } from './write-thinking.ts'

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. No lane keeps state for us.
 */
export function retargetRequest(request: ResponsesRequest, target: RelayTarget<ResponsesDialect>): LaneRequest {
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
  if (written !== undefined) changes.set('input', retargetInput(written, { dialect, origin, sealed: request.sealed }))
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
  const include = askedField(request, 'include')
  return Array.isArray(include) && include.includes(what)
}

/** How it wants to be told of the reasoning stays; what changes the price is not among it. */
const REASONING_KEPT = ['summary', 'generate_summary', 'context']

function reasoningFor(
  request: ResponsesRequest,
  target: RelayTarget<ResponsesDialect>,
  isWithout: (path: string) => boolean,
): string | null {
  const effort = effortWord(target)
  const said = askedField(request, 'reasoning')
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
export const canBeRetargeted = ({ toolKinds, boundTo }: ResponsesRequest, { nativeTools }: ResponsesDialect): boolean =>
  boundTo !== undefined || toolKinds.every((kind) => nativeTools.includes(kind))
