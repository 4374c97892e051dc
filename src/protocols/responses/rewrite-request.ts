import { type Fields, isObject } from '../../lib/types.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { changesForLane } from '../fields/read-fields.ts'
import { jsonArray, spliceMembers, tryParse, writtenMember } from '../json/bytes.ts'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import { type LaneRequest, type RelayTarget, saltFields } from '../shared/lane-target.ts'
import { clientName } from '../shared/texts.ts'
import { effortName, includeFor, isEffortLost, LOGPROBS, type ResponsesDialect, takesLogprobs } from './dialects.ts'
import { RESPONSES_FIELDS, requestedField } from './fields.ts'
import { inputElements } from './input-items.ts'

/**
 * Rewrites the control fields in the client's own bytes: it replaces, removes or adds members, and copies everything else
 * untouched. No lane keeps state for us.
 */
export function rewriteRequest(request: ResponsesRequest, target: RelayTarget<ResponsesDialect>): LaneRequest {
  const { dialect, origin } = target
  const included = requestedField(request, 'include')
  const wantsLogprobs = Array.isArray(included) && included.includes(LOGPROBS)
  const refused = request.body.members.map(({ name }) => name).filter((name) => isLost(name, dialect))
  const { changes, leftOut: withoutOptional } = changesForLane(request, target, RESPONSES_FIELDS)
  const leftOut = [
    ...new Set([
      ...withoutOptional,
      ...refused,
      ...(wantsLogprobs && !takesLogprobs(dialect) ? ['include'] : []),
      ...(isEffortLost(target) ? [clientName('effort', 'responses')] : []),
    ]),
  ]
  const isWithout = (name: string): boolean => dialect.withoutFields.includes(name) || leftOut.includes(name)
  for (const name of leftOut) changes.set(name, null)
  changes.set('previous_response_id', null)
  changes.set('model', JSON.stringify(target.model))
  changes.set('stream', target.delivery === 'stream' ? 'true' : null)
  changes.set('max_output_tokens', JSON.stringify(target.outputCap))
  changes.set('store', isWithout('store') ? null : 'false')
  changes.set('reasoning', isWithout('reasoning') ? null : reasoningFor(request, target, isWithout))
  const include = includeFor(dialect, { logprobs: wantsLogprobs })
  changes.set('include', include.length === 0 || isWithout('include') ? null : JSON.stringify(include))
  for (const [name, salt] of Object.entries(saltFields(target))) changes.set(name, JSON.stringify(salt))
  const written = writtenMember(request, 'input')
  if (written !== undefined) changes.set('input', rewriteInput(written, { dialect, origin, sealed: request.sealed }))
  return { body: spliceMembers(request.body, changes), leftOut }
}

/** A field of the client that the server refuses. State is kept here and not at the lane, so its fields are not lost. */
const isLost = (name: string, { withoutFields }: ResponsesDialect): boolean =>
  withoutFields.includes(name) && name !== 'store' && name !== 'previous_response_id'

/** The members of `reasoning` that stay as the client wrote them, because they do not change the price. */
const REASONING_KEPT = ['summary', 'generate_summary', 'context']

function reasoningFor(
  request: ResponsesRequest,
  target: RelayTarget<ResponsesDialect>,
  isWithout: (path: string) => boolean,
): string | null {
  const effort = effortName(target)
  const field = requestedField(request, 'reasoning')
  const own = isObject(field) ? field : {}
  const reasoning: Fields = effort === undefined ? {} : { effort }
  for (const name of REASONING_KEPT) {
    if (own[name] !== undefined && own[name] !== null && !isWithout(`reasoning.${name}`)) reasoning[name] = own[name]
  }
  return Object.keys(reasoning).length === 0 ? null : JSON.stringify(reasoning)
}

/**
 * Whether a request can go to a lane as its client wrote it. A compacted conversation can only go to the lane that compacted it;
 * any other needs a server that takes all its kinds of tools.
 */
export const canRewrite = ({ toolKinds, boundTo }: ResponsesRequest, { nativeTools }: ResponsesDialect): boolean =>
  boundTo !== undefined || toolKinds.every((kind) => nativeTools.includes(kind))

interface InputTarget extends Pick<ResponsesRequest, 'sealed'> {
  readonly dialect: ResponsesDialect
  readonly origin: string
}

/**
 * The items of an input for a lane, without ids. Ids are ours or the client's, and a lane without state does not find them; it
 * also refuses sealed reasoning under any id but the first. An input without ids is rewritten in the same way, and a string
 * becomes a message, so that it stays a prefix of later inputs.
 */
const rewriteInput = (input: Buffer, target: InputTarget): Buffer =>
  jsonArray(inputElements(input).flatMap((item) => rewriteItem(item, target) ?? []))

const ID = Buffer.from('"id"')
const REASONING = Buffer.from('"reasoning"')

/** Undefined for reasoning that the lane cannot use. */
function rewriteItem(item: Buffer, target: InputTarget): Buffer | undefined {
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
 * A server takes back its own seal, with a summary and without the raw text. A server without seals takes the raw text and
 * refuses a seal. Undefined for reasoning that is neither sealed by the lane nor readable for it.
 */
function changesOfReasoning(
  { encrypted_content: envelope, summary, content }: Fields,
  target: InputTarget,
): ReadonlyMap<string, string | null> | undefined {
  const changes = new Map<string, string | null>([['id', null]])
  const seal = opaqueForLane(typeof envelope === 'string' ? target.sealed.get(envelope) : undefined, target)
  if (seal === undefined) {
    const isReadable = !target.dialect.sealsReasoning && (isFilled(content) || isFilled(summary))
    return isReadable ? changes.set('encrypted_content', null) : undefined
  }
  changes.set('encrypted_content', JSON.stringify(seal))
  if (!Array.isArray(summary)) changes.set('summary', '[]')
  return changes.set('status', null).set('content', null)
}

const isFilled = (parts: unknown): boolean => Array.isArray(parts) && parts.length > 0
