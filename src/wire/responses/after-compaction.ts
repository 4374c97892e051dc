import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { ParsedBody } from '../parsed-body.ts'
import { framedSummary } from '../summary.ts'
import { elementsOfBody } from './input-elements.ts'
import { isCallType, isOutputType, typeOfItem } from './item-types.ts'

/**
 * The items of an input as a model gets them, each as JSON: the last compaction stands for what went before it. The
 * compactions are given by their places.
 */
export function itemsAfterCompaction(body: ParsedBody, compactions: ReadonlyMap<number, Compacted>): Buffer[] {
  const input = body.value.input as readonly unknown[]
  const elements = elementsOfBody(body)
  const [at, compacted] = [...compactions].at(-1) ?? []
  if (at === undefined || compacted === undefined) return elements
  const answeredLater = new Set(input.slice(at).flatMap((item) => (isOutput(item) ? [item.call_id] : [])))
  const before = elements.slice(0, at).filter((_, index) => staysBefore(input[index], answeredLater))
  return [...before, Buffer.from(JSON.stringify(itemOf(compacted))), ...elements.slice(at + 1)]
}

const isOutput = (item: unknown): item is Fields => isObject(item) && isOutputType(item.type)

/**
 * What stands in front of a compaction has been made short in it. What its user and the system said may stay, if the client
 * sends it; what the model said, thought and called goes, but for a call whose result comes later.
 */
function staysBefore(item: unknown, answeredLater: ReadonlySet<unknown>): boolean {
  if (!isObject(item) || isMessageThatStays(item)) return true
  const type = typeOfItem(item)
  return type === 'additional_tools' || (isCallType(type) && answeredLater.has(item.call_id))
}

/** Of the user or the system: what the endpoint for compactions leaves beside one has to be let through here again. */
export const isMessageThatStays = (item: Readonly<Fields>): boolean =>
  typeOfItem(item) === 'message' && ROLES_THAT_STAY.has(item.role)

const ROLES_THAT_STAY: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

const itemOf = (compacted: Compacted): Fields =>
  compacted.kind === 'summary'
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: framedSummary(compacted.text) }] }
    : { type: 'compaction', encrypted_content: compacted.opaque.data }
