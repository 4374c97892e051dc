import { isObject } from '../../lib/is-object.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { clientName } from '../client-names.ts'
import { changesForLanes, optionalFieldsLeftOut } from '../fields/retarget-fields.ts'
import { writtenMember } from '../json/members.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { type LaneRequest, type RelayTarget, saltFields } from '../lane-target.ts'
import { askedField } from './asked-field.ts'
import { includeFor, LOGPROBS, type NativeTool, type ResponsesDialect, takesLogprobs } from './dialects.ts'
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
  const input = written && retargetInput(written, { dialect, origin, sealed: request.sealed })
  if (input !== undefined) changes.set('input', input)
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
 * Whether a request can go to a lane as its client has written it: only what made its conversation short can go on from
 * that, and else its server has to take all kinds of tools that are in it. The same words in a text may say no where there
 * is none: then the request is translated for nothing, which is no harm.
 */
export const canBeRetargeted = ({ body, boundTo }: ResponsesRequest, { nativeTools }: ResponsesDialect): boolean =>
  boundTo !== undefined ||
  Object.entries(SIGNS).every(
    ([kind, signs]) => nativeTools.includes(kind as NativeTool) || !signs.some((sign) => body.bytes.includes(sign)),
  )

/** What a request has in it that needs more than functions, now or in its history. */
const SIGNS: Readonly<Record<NativeTool, readonly Buffer[]>> = {
  custom: ['"custom"', '"custom_tool_call"', '"custom_tool_call_output"'].map((sign) => Buffer.from(sign)),
  namespace: ['"namespace"', '"additional_tools"'].map((sign) => Buffer.from(sign)),
}
