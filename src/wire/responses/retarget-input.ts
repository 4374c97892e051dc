import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { jsonArray } from '../json/array-elements.ts'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { tryParse } from '../json/try-parse.ts'
import { opaqueForLane } from '../seals/opaque-for-lane.ts'
import type { ResponsesDialect } from './dialects.ts'
import { inputElements } from './input-elements.ts'

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
export const retargetInput = (input: Buffer, target: InputTarget): Buffer =>
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
