import { type Fields, isObject } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import type { StreamState } from '../shared/stream-state.ts'
import {
  callsAnother,
  DISAGREES,
  faultInCalls,
  hasEveryPart,
  hasSameText,
  isSameItem,
  textOf,
} from './answer-faults.ts'
import { createReceivedItems, ItemQueue, partAt, type ReceivedItem, type ReceivedItems } from './item-queue.ts'
import {
  ITEM_OF_PART,
  type ItemEvent,
  type ItemKind,
  indexOfPart,
  isCall,
  itemKindOf,
  type OutputItem,
  type OutputPart,
  type PartKind,
  partKindOf,
  TEXT_EVENTS,
  type TextEvent,
  wordsOfPart,
} from './item-events.ts'

/** What a provider says of its items, mended: what is missing is inferred, what comes twice is told once. */
export interface ItemParser {
  hear(type: string, event: Fields): void
  /** The items of a whole response: what has been heard of them before is not told again. Then all of them are over. */
  hearOutput(output: unknown, status: 'completed' | 'incomplete'): void
  take(): readonly ItemEvent[]
  /** What could be taken is not told to anybody. */
  forget(): void
  /** More items, or more parts of them, than any answer has: what is heard from here on is not told. */
  tooMany(): boolean
  /** What is wrong with the calls of a finished answer. In an incomplete one the last item may be cut, and is not checked. */
  faultInCalls(ending: 'completed' | 'incomplete'): string | undefined
}

export function createItemParser(state: StreamState, { origin, functionsAreCustom }: ItemParserOptions): ItemParser {
  const queue = new ItemQueue(state, functionsAreCustom ? '' : '{}')
  const hearing: Hearing = { state, items: createReceivedItems(), queue, origin, functionsAreCustom }
  return {
    hear: (type, event) => hearOfItems(hearing, type, event),
    hearOutput: (output, status) => hearOutput(hearing, output, status),
    take: () => hearing.queue.take(),
    forget: () => hearing.queue.forget(),
    tooMany: () => hearing.queue.tooMany(),
    faultInCalls: (ending) => faultInCalls(hearing.items.all, { functionsAreCustom, isCut: ending === 'incomplete' }),
  }
}

interface ItemParserOptions {
  readonly origin: string
  /** Functions may stand for custom tools of the client, whose input need not be JSON. */
  readonly functionsAreCustom: boolean
}

/** What nobody knows is not for the client: strict ones throw at events without a meaning. */
function hearOfItems(hearing: Hearing, type: string, event: Fields): void {
  const words = TEXT_EVENTS.get(type)
  if (words?.stage === 'delta') hearDelta(hearing, words.kind, event)
  else if (words) hearWhole(hearing, words, event)
  else STRUCTURE_EVENTS.get(type)?.(hearing, event)
}

const STRUCTURE_EVENTS: ReadonlyMap<string, (hearing: Hearing, event: Fields) => void> = new Map([
  ['response.output_item.added', (hearing, event) => hearItem(hearing, event, 'begins')],
  ['response.output_item.done', (hearing, event) => hearItem(hearing, event, 'ends')],
  ['response.content_part.added', (hearing, event) => hearPart(hearing, event, 'begins')],
  ['response.content_part.done', (hearing, event) => hearPart(hearing, event, 'ends')],
  ['response.reasoning_summary_part.added', (hearing, event) => hearPart(hearing, event, 'begins')],
  ['response.reasoning_summary_part.done', (hearing, event) => hearPart(hearing, event, 'ends')],
  ['response.output_text.annotation.added', hearAnnotation],
])

function hearDelta(hearing: Hearing, kind: PartKind, event: Fields): void {
  const { delta } = event
  if (typeof delta !== 'string' || delta === '') return
  if (isBehindItsEnd(hearing, kind, event)) {
    hearing.state.invalid ??= 'content after the end of its item'
    return
  }
  if (isReasoning(kind) && isToldAgain(hearing, kind, event)) return
  const received = itemFor(hearing, kind, event)
  if (received === 'not-ours') return
  hearing.queue.say(received, hearing.queue.openPart(received, kind, indexOfPart(event, kind), {}), delta, event)
}

/**
 * Whether a delta comes after the end of its item or part. Reasoning is exempt: nothing depends on where its text is, and some
 * servers send its parts interleaved.
 */
function isBehindItsEnd(hearing: Hearing, kind: PartKind, event: Fields): boolean {
  if (isReasoning(kind)) return false
  const received = hearing.items.find(event, ITEM_OF_PART[kind])
  if (received === 'not-ours') return false
  if (received === undefined) return endedItem(hearing, event) !== undefined
  const part = partAt(received, kind, indexOfPart(event, kind))
  return part !== undefined && (part !== received.openPart || part.isWhole)
}

/** More of a part whose words the provider has said as a whole. */
function isToldAgain(hearing: Hearing, kind: PartKind, event: Fields): boolean {
  const received = hearing.items.find(event, ITEM_OF_PART[kind]) ?? endedItem(hearing, event)
  if (received === undefined || received === 'not-ours') return false
  return partAt(received, kind, indexOfPart(event, kind))?.isWhole === true
}

/** The words again as a whole: where no deltas came, or not all, these are the ones. */
function hearWhole(hearing: Hearing, { kind, wholeField }: TextEvent, event: Fields): void {
  const known = hearing.items.find(event, ITEM_OF_PART[kind])
  if (known === 'not-ours') return
  // Words of an item that is over, or of a part that is: they have been told.
  const over = known === undefined ? endedItem(hearing, event) : undefined
  if (over !== undefined) {
    agreeWithEnded(hearing, over, { kind, key: indexOfPart(event, kind), whole: event[wholeField] })
    return
  }
  const received = known ?? itemFor(hearing, kind, event)
  if (received === 'not-ours') return
  const key = indexOfPart(event, kind)
  const told = partAt(received, kind, key)
  if (told !== undefined && told !== received.openPart) {
    agree(hearing, told, event[wholeField])
    return
  }
  const { name } = event
  if (isCall(received.item.kind) && typeof name === 'string' && name !== '') learn(hearing, received, { name })
  const part = hearing.queue.openPart(received, kind, key, {})
  complete(hearing, received, part, event[wholeField])
  part.ended = event
  part.isWhole = true
}

/** The finished item that an event names by its id, its index, or both. */
const endedItem = ({ items }: Hearing, { item_id: id, output_index: index }: Fields): ReceivedItem | undefined =>
  id === undefined && index === undefined
    ? undefined
    : items.all.find(
        (item) =>
          item.hasEnded &&
          (id === undefined || item.id === undefined || item.id === id) &&
          (index === undefined || item.index === index),
      )

function hearItem(hearing: Hearing, event: Fields, what: 'begins' | 'ends'): void {
  if (!isObject(event.item)) return
  const index = typeof event.output_index === 'number' ? event.output_index : undefined
  const received = itemOf(hearing, what === 'begins' ? asItBegins(event.item) : event.item, index, what === 'begins')
  if (received === undefined || what === 'begins') return
  if (received.hasEnded) {
    if (!isSameItem(received, event.item)) hearing.state.invalid ??= DISAGREES
    return
  }
  finishItem(hearing, received, event.item, 'completed')
}

/** What is sealed is shorter at the beginning than at the end, and its provider takes back only the end. */
function asItBegins(item: Fields): Fields {
  if (item.type !== 'reasoning') return item
  const { encrypted_content: _unfinished, ...rest } = item
  return rest
}

function hearPart(hearing: Hearing, event: Fields, what: 'begins' | 'ends'): void {
  const part = isObject(event.part) ? event.part : {}
  const kind = partKindOf(part)
  if (kind === undefined) return
  const key = indexOfPart(event, kind)
  if (what === 'begins') {
    if (isToldAgain(hearing, kind, event)) return
    const received = itemFor(hearing, kind, event)
    if (received !== 'not-ours') hearing.queue.openPart(received, kind, key, part)
    return
  }
  const whole = wordsOfPart(part, kind)
  const known = hearing.items.find(event, ITEM_OF_PART[kind])
  const over = known === undefined ? endedItem(hearing, event) : undefined
  if (over !== undefined) agreeWithEnded(hearing, over, { kind, key, whole })
  const received = known ?? (over === undefined && textOf(whole) !== '' ? itemFor(hearing, kind, event) : undefined)
  if (received !== undefined && received !== 'not-ours') finishPart(hearing, received, kind, key, part)
}

function hearAnnotation(hearing: Hearing, event: Fields): void {
  const received = hearing.items.find(event, 'message')
  if (received === undefined || received === 'not-ours' || event.annotation === undefined) return
  if (received.openPart?.kind === 'output_text') hearing.queue.annotate(received, received.openPart, event)
}

function hearOutput(hearing: Hearing, output: unknown, status: 'completed' | 'incomplete'): void {
  const claimed = new Set<ReceivedItem>()
  const items = Array.isArray(output) ? output : []
  const ids = new Set(items.map((item) => (isObject(item) ? idOf(item) : undefined)))
  const isFree = (other: ReceivedItem, kind: ItemKind, item: Fields): boolean =>
    other.item.kind === kind &&
    !claimed.has(other) &&
    (other.id === undefined || !ids.has(other.id)) &&
    !isAnotherCall(other, item)
  for (const [index, item] of items.entries()) {
    if (hearing.queue.tooMany()) return
    if (!isObject(item)) continue
    const kind = itemKindOf(item)
    if (kind === undefined) continue
    const found = hearing.items.findItem({ id: idOf(item), index, kind })
    // It was not known for what it is, and so its words were passed by.
    if (found === 'not-ours') hearing.state.invalid ??= DISAGREES
    if (found === 'not-ours' || isListedTwice(found, item, claimed)) continue
    // Where ids and places tell nothing, the next one of its kind is meant: nothing is told twice.
    const received =
      found !== undefined && !claimed.has(found)
        ? found
        : (hearing.items.all.find((other) => isFree(other, kind, item)) ??
          begin(hearing, item, hearing.items.nextIndex()))
    if (received === undefined) continue
    claimed.add(received)
    // What is cut is the last one.
    if (!received.hasEnded) finishItem(hearing, received, item, index === items.length - 1 ? status : 'completed')
    else if (!isSameItem(received, item)) hearing.state.invalid ??= DISAGREES
  }
  const isLeftOut = (received: ReceivedItem) => !claimed.has(received) && saysSomething(received)
  if (claimed.size > 0 && hearing.items.all.some(isLeftOut)) hearing.state.invalid ??= DISAGREES
  hearing.queue.endAll(status)
  if (!isInOrder([...claimed].filter(saysSomething))) hearing.state.invalid ??= DISAGREES
}

/**
 * A listed call under another `call_id` is another call, unless it says the same as one that has ended: vLLM mints new ids for its
 * final list (https://github.com/vllm-project/vllm/pull/47916).
 */
const isAnotherCall = (received: ReceivedItem, item: Fields): boolean => {
  const [told, listed] = [received.item.fields.call_id, item.call_id]
  if (!isCall(received.item.kind) || !isText(told) || !isText(listed) || told === listed) return false
  return !received.hasEnded || !isSameItem(received, item)
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** Told one after the other as they stand in the list. */
const isInOrder = (items: readonly ReceivedItem[]): boolean =>
  items.every(({ toldAs }, at) => at === 0 || toldAs > items[at - 1]!.toldAs)

/** The same item again, by its id and its words. */
const isListedTwice = (found: ReceivedItem | undefined, item: Fields, claimed: ReadonlySet<ReceivedItem>): boolean =>
  found !== undefined && claimed.has(found) && found.id === idOf(item) && isSameItem(found, item)

/** On reasoning nothing depends. */
const saysSomething = ({ item }: ReceivedItem): boolean =>
  isCall(item.kind) || (item.kind === 'message' && item.parts.some(({ text }) => text !== ''))

// How items begin and come to their ends, whatever event says so.

interface Hearing {
  readonly state: StreamState
  readonly items: ReceivedItems
  readonly queue: ItemQueue
  readonly origin: string
  readonly functionsAreCustom: boolean
}

const isReasoning = (kind: PartKind): boolean => ITEM_OF_PART[kind] === 'reasoning'

/** The item that words belong to; where nobody has announced it, it begins with them. */
function itemFor(hearing: Hearing, kind: PartKind, event: Fields): ReceivedItem | 'not-ours' {
  const type = ITEM_OF_PART[kind]
  const found = hearing.items.find(event, type)
  if (found !== undefined) return found
  const index = typeof event.output_index === 'number' ? event.output_index : hearing.items.nextIndex()
  const id = typeof event.item_id === 'string' ? event.item_id : undefined
  const received = hearing.queue.add({ kind: type, fields: {}, id, index })
  hearing.items.add(received)
  return received
}

function itemOf(hearing: Hearing, item: Fields, index: number | undefined, isNew: boolean): ReceivedItem | undefined {
  const kind = itemKindOf(item)
  const id = idOf(item) ?? (index === undefined ? textIn(item.call_id) : undefined)
  if (kind === undefined) {
    hearing.items.addNotOurs({ id, index })
    return undefined
  }
  const found = hearing.items.findItem({ id, index, kind })
  if (found === 'not-ours') return undefined
  // A new id at a place that is taken is a new item.
  const isSame = found !== undefined && !(isNew && id !== undefined && found.id !== undefined && found.id !== id)
  if (!isSame) return begin(hearing, item, index ?? hearing.items.nextIndex(), id)
  found.id ??= id
  if (!found.hasEnded) learn(hearing, found, item)
  else if (callsAnother(found.item, item)) hearing.state.invalid ??= DISAGREES
  return found
}

function begin(hearing: Hearing, item: Fields, index: number, id = idOf(item)): ReceivedItem | undefined {
  const kind = itemKindOf(item)
  if (kind === undefined) return undefined
  const received = hearing.queue.add({ kind, fields: item, id, index })
  received.item.opaque = opaqueIn(received.item, hearing)
  hearing.items.add(received)
  return received
}

function learn(hearing: Hearing, received: ReceivedItem, item: Fields): void {
  // The name of a call that no client has been told of yet may still be corrected.
  if (received.hasStarted && callsAnother(received.item, item)) hearing.state.invalid ??= DISAGREES
  hearing.queue.learn(received, item)
  received.item.opaque = opaqueIn(received.item, hearing)
}

function opaqueIn({ kind, fields: { encrypted_content: data } }: OutputItem, { origin }: Hearing): Opaque | undefined {
  const isSealed = (kind === 'reasoning' || kind === 'compaction') && typeof data === 'string' && data !== ''
  return isSealed ? { wire: 'responses', origin, data } : undefined
}

/** The item as a whole: what of it has not been told is told now. */
function finishItem(hearing: Hearing, received: ReceivedItem, item: Fields, status: 'completed' | 'incomplete'): void {
  learn(hearing, received, item)
  if (received.item.kind === 'function_call') finishCall(hearing, received, 'arguments', item.arguments)
  else if (received.item.kind === 'custom_tool_call') finishCall(hearing, received, 'input', item.input)
  else {
    finishParts(hearing, received, item.summary)
    finishParts(
      hearing,
      received,
      typeof item.content === 'string' ? [{ type: 'text', text: item.content }] : item.content,
    )
    if (received.item.kind === 'message' && Array.isArray(item.content) && !hasEveryPart(received, item.content))
      hearing.state.invalid ??= DISAGREES
  }
  const told = item.status === 'incomplete' || item.status === 'completed' ? item.status : status
  hearing.queue.end(received, told)
}

function finishCall(hearing: Hearing, received: ReceivedItem, kind: 'arguments' | 'input', whole: unknown): void {
  complete(hearing, received, hearing.queue.openPart(received, kind, undefined, {}), whole)
}

function finishParts(hearing: Hearing, received: ReceivedItem, parts: unknown): void {
  if (!Array.isArray(parts)) return
  for (const [index, part] of parts.entries()) {
    if (hearing.queue.tooMany()) return
    const kind = isObject(part) ? partKindOf(part) : undefined
    if (kind !== undefined && ITEM_OF_PART[kind] === received.item.kind)
      finishPart(hearing, received, kind, index, part)
  }
}

function finishPart(
  hearing: Hearing,
  received: ReceivedItem,
  kind: PartKind,
  key: number | undefined,
  fields: Fields,
): void {
  const { queue } = hearing
  const known = partAt(received, kind, key)
  if (known !== undefined && known !== received.openPart) {
    known.fields = fields
    agree(hearing, known, wordsOfPart(fields, kind))
    return
  }
  const part = queue.openPart(received, kind, key, fields)
  complete(hearing, received, part, wordsOfPart(fields, kind))
  part.fields = fields
  part.isWhole = true
  queue.closePart(received)
}

/** What was said in deltas stays said: only words that are missing behind them are told. */
function complete(hearing: Hearing, received: ReceivedItem, part: OutputPart, whole: unknown): void {
  const words = textOf(whole)
  if (words.length > part.text.length && words.startsWith(part.text)) {
    hearing.queue.say(received, part, words.slice(part.text.length), undefined)
  } else agree(hearing, part, whole)
}

interface PartEnd {
  readonly kind: PartKind
  readonly key: number | undefined
  readonly whole: unknown
}

/** The same of an item that is over: nothing can be added to it. */
function agreeWithEnded(hearing: Hearing, over: ReceivedItem, { kind, key, whole }: PartEnd): void {
  const part = partAt(over, kind, key)
  if (part !== undefined) agree(hearing, part, whole)
  else if (!isReasoning(kind) && textOf(whole) !== '') hearing.state.invalid ??= DISAGREES
}

/** What stands at the end is what was said. */
function agree({ state }: Hearing, part: OutputPart, whole: unknown): void {
  if (!hasSameText(part, whole)) state.invalid ??= DISAGREES
}

const idOf = ({ id }: Fields): string | undefined => textIn(id)
const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
