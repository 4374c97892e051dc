import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Opaque } from '../../model/event.ts'
import type { Heard } from '../heard.ts'
import { createHeardItems, type HeardItems } from './heard-items.ts'
import { type HeardItem, ItemQueue } from './item-queue.ts'
import {
  ITEM_OF_PART,
  indexOfPart,
  itemKindOf,
  partKindOf,
  WORDS_EVENTS,
  type WordsEvent,
  wordsOfPart,
} from './part-kinds.ts'
import { type ItemStep, isCall, type PartKind, type SpokenItem, type SpokenPart } from './spoken-item.ts'

/** What a provider says of its items, mended: what is missing is inferred, what comes twice is told once. */
export interface ItemHearer {
  hear(type: string, event: Fields): void
  /** The items of a whole response: what has been heard of them before is not told again. Then all of them are over. */
  hearOutput(output: unknown, status: 'completed' | 'incomplete'): void
  take(): readonly ItemStep[]
  /** More items, or more parts of them, than any answer has: what is heard from here on is not told. */
  tooMany(): boolean
}

export function createItemHearer(counts: Heard, origin: string): ItemHearer {
  const hearing: Hearing = { items: createHeardItems(), queue: new ItemQueue(counts), origin }
  return {
    hear: (type, event) => hearOfItems(hearing, type, event),
    hearOutput: (output, status) => hearOutput(hearing, output, status),
    take: () => hearing.queue.take(),
    tooMany: () => hearing.queue.tooMany(),
  }
}

interface Hearing {
  readonly items: HeardItems
  readonly queue: ItemQueue
  readonly origin: string
}

/** What nobody knows is not for the client: strict ones throw at events without a meaning. */
function hearOfItems(hearing: Hearing, type: string, event: Fields): void {
  const words = WORDS_EVENTS.get(type)
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
  const heard = itemFor(hearing, kind, event)
  if (heard === 'not-ours') return
  hearing.queue.say(heard, hearing.queue.openPart(heard, kind, indexOfPart(event, kind), {}), delta, event)
}

/** The words again as a whole: where no deltas came, or not all, these are the ones. */
function hearWhole(hearing: Hearing, { kind, wholeField }: WordsEvent, event: Fields): void {
  const known = hearing.items.find(event, ITEM_OF_PART[kind])
  if (known === 'not-ours') return
  // Words of an item that is over, or of a part that is: they have been told.
  if (known === undefined && isKnown(hearing, event)) return
  const heard = known ?? itemFor(hearing, kind, event)
  if (heard === 'not-ours') return
  const key = indexOfPart(event, kind)
  const told = partAt(heard, kind, key)
  if (told !== undefined && told !== heard.openPart) return
  if (isCall(heard.item.kind) && typeof event.name === 'string') hearing.queue.learn(heard, { name: event.name })
  const part = hearing.queue.openPart(heard, kind, key, {})
  complete(hearing, heard, part, event[wholeField])
  part.ended = event
}

const isKnown = ({ items }: Hearing, event: Fields): boolean =>
  items.all.some(
    ({ id, index, hasEnded }) =>
      hasEnded && (id === event.item_id || (event.item_id === undefined && index === event.output_index)),
  )

function hearItem(hearing: Hearing, event: Fields, what: 'begins' | 'ends'): void {
  if (!isObject(event.item)) return
  const index = typeof event.output_index === 'number' ? event.output_index : undefined
  const heard = itemOf(hearing, what === 'begins' ? asItBegins(event.item) : event.item, index, what === 'begins')
  if (heard === undefined || heard.hasEnded) return
  if (what === 'ends') finishItem(hearing, heard, event.item, 'completed')
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
  if (what === 'begins') {
    const heard = itemFor(hearing, kind, event)
    if (heard !== 'not-ours') hearing.queue.openPart(heard, kind, indexOfPart(event, kind), part)
    return
  }
  const heard = hearing.items.find(event, ITEM_OF_PART[kind])
  if (heard !== undefined && heard !== 'not-ours') finishPart(hearing, heard, kind, indexOfPart(event, kind), part)
}

function hearAnnotation(hearing: Hearing, event: Fields): void {
  const heard = hearing.items.find(event, 'message')
  if (heard === undefined || heard === 'not-ours' || event.annotation === undefined) return
  if (heard.openPart?.kind === 'output_text') hearing.queue.annotate(heard, heard.openPart, event)
}

function hearOutput(hearing: Hearing, output: unknown, status: 'completed' | 'incomplete'): void {
  const claimed = new Set<HeardItem>()
  const items = Array.isArray(output) ? output : []
  for (const [index, item] of items.entries()) {
    if (hearing.queue.tooMany()) return
    if (!isObject(item)) continue
    const kind = itemKindOf(item)
    if (kind === undefined) continue
    const found = hearing.items.findItem({ id: idOf(item), index, kind })
    if (found === 'not-ours') continue
    // Where ids and places tell nothing, the next one of its kind is meant: nothing is told twice.
    const heard =
      found !== undefined && !claimed.has(found)
        ? found
        : (hearing.items.all.find((other) => other.item.kind === kind && !claimed.has(other)) ??
          begin(hearing, item, hearing.items.nextIndex()))
    if (heard === undefined) continue
    claimed.add(heard)
    // What is cut is the last one.
    if (!heard.hasEnded) finishItem(hearing, heard, item, index === items.length - 1 ? status : 'completed')
  }
  hearing.queue.endAll(status)
}

/** The item that words belong to; where nobody has announced it, it begins with them. */
function itemFor(hearing: Hearing, kind: PartKind, event: Fields): HeardItem | 'not-ours' {
  const type = ITEM_OF_PART[kind]
  const found = hearing.items.find(event, type)
  if (found !== undefined) return found
  const index = typeof event.output_index === 'number' ? event.output_index : hearing.items.nextIndex()
  const id = typeof event.item_id === 'string' ? event.item_id : undefined
  const heard = hearing.queue.add({ kind: type, fields: {}, id, index })
  hearing.items.add(heard)
  return heard
}

function itemOf(hearing: Hearing, item: Fields, index: number | undefined, isNew: boolean): HeardItem | undefined {
  const kind = itemKindOf(item)
  const id = idOf(item)
  if (kind === undefined) {
    hearing.items.addNotOurs({ id, index })
    return undefined
  }
  const found = hearing.items.findItem({ id, index, kind })
  if (found === 'not-ours') return undefined
  // A new id at a place that is taken is a new item.
  const isSame = found !== undefined && !(isNew && id !== undefined && found.id !== undefined && found.id !== id)
  if (!isSame) return begin(hearing, item, index ?? hearing.items.nextIndex())
  found.id ??= id
  if (!found.hasEnded) learn(hearing, found, item)
  return found
}

function begin(hearing: Hearing, item: Fields, index: number): HeardItem | undefined {
  const kind = itemKindOf(item)
  if (kind === undefined) return undefined
  const heard = hearing.queue.add({ kind, fields: item, id: idOf(item), index })
  heard.item.opaque = opaqueIn(heard.item, hearing)
  hearing.items.add(heard)
  return heard
}

function learn(hearing: Hearing, heard: HeardItem, item: Fields): void {
  hearing.queue.learn(heard, item)
  heard.item.opaque = opaqueIn(heard.item, hearing)
}

function opaqueIn({ kind, fields: { encrypted_content: data } }: SpokenItem, { origin }: Hearing): Opaque | undefined {
  const isSealed = (kind === 'reasoning' || kind === 'compaction') && typeof data === 'string' && data !== ''
  return isSealed ? { wire: 'responses', origin, data } : undefined
}

/** The item as a whole: what of it has not been told is told now. */
function finishItem(hearing: Hearing, heard: HeardItem, item: Fields, status: 'completed' | 'incomplete'): void {
  learn(hearing, heard, item)
  if (heard.item.kind === 'function_call') finishCall(hearing, heard, 'arguments', item.arguments)
  else if (heard.item.kind === 'custom_tool_call') finishCall(hearing, heard, 'input', item.input)
  else {
    finishParts(hearing, heard, item.summary)
    finishParts(
      hearing,
      heard,
      typeof item.content === 'string' ? [{ type: 'text', text: item.content }] : item.content,
    )
  }
  const told = item.status === 'incomplete' || item.status === 'completed' ? item.status : status
  hearing.queue.end(heard, told)
}

function finishCall(hearing: Hearing, heard: HeardItem, kind: 'arguments' | 'input', whole: unknown): void {
  complete(hearing, heard, hearing.queue.openPart(heard, kind, undefined, {}), whole)
}

function finishParts(hearing: Hearing, heard: HeardItem, parts: unknown): void {
  if (!Array.isArray(parts)) return
  for (const [index, part] of parts.entries()) {
    if (hearing.queue.tooMany()) return
    const kind = isObject(part) ? partKindOf(part) : undefined
    if (kind !== undefined && ITEM_OF_PART[kind] === heard.item.kind) finishPart(hearing, heard, kind, index, part)
  }
}

function finishPart(hearing: Hearing, heard: HeardItem, kind: PartKind, key: number | undefined, fields: Fields): void {
  const { queue } = hearing
  const known = partAt(heard, kind, key)
  if (known !== undefined && known !== heard.openPart) {
    known.fields = fields
    return
  }
  const part = queue.openPart(heard, kind, key, fields)
  complete(hearing, heard, part, wordsOfPart(fields, kind))
  part.fields = fields
  queue.closePart(heard)
}

const partAt = ({ item, openPart }: HeardItem, kind: PartKind, key: number | undefined): SpokenPart | undefined =>
  openPart?.kind === kind && (key === undefined || openPart.key === key)
    ? openPart
    : item.parts.find((part) => part.kind === kind && part.key === key)

/** What was said in deltas stays said: only words that are missing behind them are told. */
function complete({ queue }: Hearing, heard: HeardItem, part: SpokenPart, whole: unknown): void {
  const words = typeof whole === 'string' ? whole : isObject(whole) ? JSON.stringify(whole) : ''
  if (words.length > part.text.length && words.startsWith(part.text)) {
    queue.say(heard, part, words.slice(part.text.length), undefined)
  }
}

const idOf = ({ id }: Fields): string | undefined => (typeof id === 'string' && id !== '' ? id : undefined)
