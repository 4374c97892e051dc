import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { MintIds } from '../mint-ids.ts'
import type { ParsedBody } from '../request-reader.ts'
import { framedSummary, isFramedSummary } from '../summary.ts'
import { elementsOfBody } from './input-elements.ts'
import { isCallType, isOutputType, typeOfItem } from './item-types.ts'

/** A request in which nothing is referred to any more. */
export interface ExpandedBody {
  readonly body: ParsedBody
  /** How many of its items, from the first, were stored here and not sent by the client. */
  readonly previousItems: number
}

/**
 * The items of an input as a model gets them, each as JSON: the last compaction stands for what went before it. The
 * compactions are given by their places.
 */
export function itemsAfterCompaction(
  { body, previousItems }: ExpandedBody,
  compactions: ReadonlyMap<number, Compacted>,
): Buffer[] {
  const items = body.value.input as readonly unknown[]
  const elements = elementsOfBody(body)
  const [at, compacted] = [...compactions].at(-1) ?? []
  if (at === undefined || compacted === undefined) return elements
  const before = staysBefore({ items, elements, previousItems }, at)
  return [...before, Buffer.from(JSON.stringify(itemOf(compacted))), ...elements.slice(at + 1)]
}

const itemOf = (compacted: Compacted): Fields =>
  compacted.kind === 'summary'
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: framedSummary(compacted.text) }] }
    : { type: 'compaction', encrypted_content: compacted.opaque.data }

interface Conversation {
  readonly items: readonly unknown[]
  /** The same, each as JSON. */
  readonly elements: readonly Buffer[]
  readonly previousItems: number
}

/** Of what a user has said before, in a context that we have put together: the last of it stays word for word. */
const USER_BYTES_MAX = 32 * 1024

/**
 * What of a conversation goes to a model beside the compaction that stands at this place, in which all before it was made
 * short: what its user and the system said. What the model said, thought and called goes, but for a call whose result comes
 * later.
 */
function staysBefore({ items, elements, previousItems }: Conversation, at: number): Buffer[] {
  const answeredLater = new Set(items.slice(at).flatMap((item) => (isOutput(item) ? [item.call_id] : [])))
  const stays: Buffer[] = []
  let room = USER_BYTES_MAX
  for (let index = at - 1; index >= 0; index--) {
    const [item, element] = [items[index], elements[index]]
    if (element === undefined || !mayStay(item, answeredLater)) continue
    // What the client sends itself it keeps on purpose.
    const isBounded = index < previousItems && isObject(item) && item.role === 'user'
    if (isBounded) room -= element.length
    if (!isBounded || room >= 0) stays.push(element)
  }
  return stays.reverse()
}

const isOutput = (item: unknown): item is Fields => isObject(item) && isOutputType(item.type)

function mayStay(item: unknown, answeredLater: ReadonlySet<unknown>): boolean {
  // What is malformed is for who judges items.
  if (!isObject(item) || isMessageThatStays(item)) return true
  const type = typeOfItem(item)
  return type === 'additional_tools' || (isCallType(type) && answeredLater.has(item.call_id))
}

/** Of the user or the system: what the endpoint for compactions leaves beside one has to be let through here again. */
const isMessageThatStays = (item: Readonly<Fields>): boolean =>
  typeOfItem(item) === 'message' && ROLES_THAT_STAY.has(item.role)

const ROLES_THAT_STAY: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

/** Of a conversation that is short itself less stays word for word beside its summary: a quarter. */
const USER_SHARE = 4

/**
 * The messages that stay as they are when a conversation is made short at the endpoint, whose answer is the whole context
 * of the next request: what the system says, and the last of what the user has said.
 */
export function keptItems({ body }: Pick<ResponsesRequest, 'body'>, mint: MintIds): readonly Fields[] {
  const elements = elementsOfBody(body)
  const messages = elements.map((element) => JSON.parse(element.toString('utf8')) as Fields).filter(staysBeside)
  const bytes = elements.reduce((sum, { length }) => sum + length, 0)
  let room = Math.min(USER_BYTES_MAX, Math.floor(bytes / USER_SHARE))
  const kept: Fields[] = []
  for (const message of messages.toReversed()) {
    const whole = wholeMessage(message, mint)
    if (message.role === 'user') room -= Buffer.byteLength(JSON.stringify(whole))
    if (message.role !== 'user' || room >= 0) kept.push(whole)
  }
  return kept.reverse()
}

const staysBeside = (item: Fields): boolean => isMessageThatStays(item) && !isSummary(item)

/** An earlier summary is in the new one, and no word of the user's. */
const isSummary = ({ content }: Fields): boolean =>
  Array.isArray(content) && content.length === 1 && isObject(content[0]) && isFramedSummary(content[0].text)

/** With all that clients expect of an item that they are given. */
const wholeMessage = ({ role, content }: Fields, mint: MintIds): Fields => ({
  id: mint.itemId('msg'),
  type: 'message',
  role,
  status: 'completed',
  content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
})
