import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Heard } from '../heard.ts'
import { DISAGREES, faultInCalls, itemSaysTheSame, textOf } from './answer-faults.ts'
import {
  agree,
  agreeWithEnded,
  begin,
  complete,
  finishItem,
  finishPart,
  type Hearing,
  idOf,
  isReasoning,
  itemFor,
  itemOf,
  learn,
} from './finish-items.ts'
import { createHeardItems } from './heard-items.ts'
import { type HeardItem, ItemQueue, partAt } from './item-queue.ts'
import {
  ITEM_OF_PART,
  indexOfPart,
  itemKindOf,
  partKindOf,
  WORDS_EVENTS,
  type WordsEvent,
  wordsOfPart,
} from './part-kinds.ts'
import { type ItemKind, type ItemStep, isCall, type PartKind } from './spoken-item.ts'

/** What a provider says of its items, mended: what is missing is inferred, what comes twice is told once. */
export interface ItemHearer {
  hear(type: string, event: Fields): void
  /** The items of a whole response: what has been heard of them before is not told again. Then all of them are over. */
  hearOutput(output: unknown, status: 'completed' | 'incomplete'): void
  take(): readonly ItemStep[]
  /** What could be taken is not told to anybody. */
  forget(): void
  /** More items, or more parts of them, than any answer has: what is heard from here on is not told. */
  tooMany(): boolean
  /** What is wrong with the calls of a finished answer. In an incomplete one the last item may be cut, and is not checked. */
  faultInCalls(ending: 'completed' | 'incomplete'): string | undefined
}

export function createItemHearer(heard: Heard, { origin, functionsAreCustom }: HearerOptions): ItemHearer {
  const queue = new ItemQueue(heard, functionsAreCustom ? '' : '{}')
  const hearing: Hearing = { heard, items: createHeardItems(), queue, origin, functionsAreCustom }
  return {
    hear: (type, event) => hearOfItems(hearing, type, event),
    hearOutput: (output, status) => hearOutput(hearing, output, status),
    take: () => hearing.queue.take(),
    forget: () => hearing.queue.forget(),
    tooMany: () => hearing.queue.tooMany(),
    faultInCalls: (ending) => faultInCalls(hearing.items.all, { functionsAreCustom, isCut: ending === 'incomplete' }),
  }
}

export interface HearerOptions {
  readonly origin: string
  /** Functions may stand for custom tools of the client, whose input need not be JSON. */
  readonly functionsAreCustom: boolean
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
  if (isBehindItsEnd(hearing, kind, event)) {
    hearing.heard.invalid ??= 'content after the end of its item'
    return
  }
  if (isReasoning(kind) && isToldAgain(hearing, kind, event)) return
  const heard = itemFor(hearing, kind, event)
  if (heard === 'not-ours') return
  hearing.queue.say(heard, hearing.queue.openPart(heard, kind, indexOfPart(event, kind), {}), delta, event)
}

/**
 * Whether a delta comes after the end of its item or part. Reasoning is exempt: nothing depends on where its text is, and some
 * servers send its parts interleaved.
 */
function isBehindItsEnd(hearing: Hearing, kind: PartKind, event: Fields): boolean {
  if (isReasoning(kind)) return false
  const heard = hearing.items.find(event, ITEM_OF_PART[kind])
  if (heard === 'not-ours') return false
  if (heard === undefined) return endedItem(hearing, event) !== undefined
  const part = partAt(heard, kind, indexOfPart(event, kind))
  return part !== undefined && (part !== heard.openPart || part.isWhole)
}

/** More of a part whose words the provider has said as a whole. */
function isToldAgain(hearing: Hearing, kind: PartKind, event: Fields): boolean {
  const heard = hearing.items.find(event, ITEM_OF_PART[kind]) ?? endedItem(hearing, event)
  if (heard === undefined || heard === 'not-ours') return false
  return partAt(heard, kind, indexOfPart(event, kind))?.isWhole === true
}

/** The words again as a whole: where no deltas came, or not all, these are the ones. */
function hearWhole(hearing: Hearing, { kind, wholeField }: WordsEvent, event: Fields): void {
  const known = hearing.items.find(event, ITEM_OF_PART[kind])
  if (known === 'not-ours') return
  // Words of an item that is over, or of a part that is: they have been told.
  const over = known === undefined ? endedItem(hearing, event) : undefined
  if (over !== undefined) {
    agreeWithEnded(hearing, over, { kind, key: indexOfPart(event, kind), whole: event[wholeField] })
    return
  }
  const heard = known ?? itemFor(hearing, kind, event)
  if (heard === 'not-ours') return
  const key = indexOfPart(event, kind)
  const told = partAt(heard, kind, key)
  if (told !== undefined && told !== heard.openPart) {
    agree(hearing, told, event[wholeField])
    return
  }
  const { name } = event
  if (isCall(heard.item.kind) && typeof name === 'string' && name !== '') learn(hearing, heard, { name })
  const part = hearing.queue.openPart(heard, kind, key, {})
  complete(hearing, heard, part, event[wholeField])
  part.ended = event
  part.isWhole = true
}

/** The finished item that an event names by its id, its index, or both. */
const endedItem = ({ items }: Hearing, { item_id: id, output_index: index }: Fields): HeardItem | undefined =>
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
  const heard = itemOf(hearing, what === 'begins' ? asItBegins(event.item) : event.item, index, what === 'begins')
  if (heard === undefined || what === 'begins') return
  if (heard.hasEnded) {
    if (!itemSaysTheSame(heard, event.item)) hearing.heard.invalid ??= DISAGREES
    return
  }
  finishItem(hearing, heard, event.item, 'completed')
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
    const heard = itemFor(hearing, kind, event)
    if (heard !== 'not-ours') hearing.queue.openPart(heard, kind, key, part)
    return
  }
  const whole = wordsOfPart(part, kind)
  const known = hearing.items.find(event, ITEM_OF_PART[kind])
  const over = known === undefined ? endedItem(hearing, event) : undefined
  if (over !== undefined) agreeWithEnded(hearing, over, { kind, key, whole })
  const heard = known ?? (over === undefined && textOf(whole) !== '' ? itemFor(hearing, kind, event) : undefined)
  if (heard !== undefined && heard !== 'not-ours') finishPart(hearing, heard, kind, key, part)
}

function hearAnnotation(hearing: Hearing, event: Fields): void {
  const heard = hearing.items.find(event, 'message')
  if (heard === undefined || heard === 'not-ours' || event.annotation === undefined) return
  if (heard.openPart?.kind === 'output_text') hearing.queue.annotate(heard, heard.openPart, event)
}

function hearOutput(hearing: Hearing, output: unknown, status: 'completed' | 'incomplete'): void {
  const claimed = new Set<HeardItem>()
  const items = Array.isArray(output) ? output : []
  const ids = new Set(items.map((item) => (isObject(item) ? idOf(item) : undefined)))
  const isFree = (other: HeardItem, kind: ItemKind, item: Fields): boolean =>
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
    if (found === 'not-ours') hearing.heard.invalid ??= DISAGREES
    if (found === 'not-ours' || isListedTwice(found, item, claimed)) continue
    // Where ids and places tell nothing, the next one of its kind is meant: nothing is told twice.
    const heard =
      found !== undefined && !claimed.has(found)
        ? found
        : (hearing.items.all.find((other) => isFree(other, kind, item)) ??
          begin(hearing, item, hearing.items.nextIndex()))
    if (heard === undefined) continue
    claimed.add(heard)
    // What is cut is the last one.
    if (!heard.hasEnded) finishItem(hearing, heard, item, index === items.length - 1 ? status : 'completed')
    else if (!itemSaysTheSame(heard, item)) hearing.heard.invalid ??= DISAGREES
  }
  const isLeftOut = (heard: HeardItem) => !claimed.has(heard) && saysSomething(heard)
  if (claimed.size > 0 && hearing.items.all.some(isLeftOut)) hearing.heard.invalid ??= DISAGREES
  hearing.queue.endAll(status)
  if (!isInOrder([...claimed].filter(saysSomething))) hearing.heard.invalid ??= DISAGREES
}

/**
 * A listed call under another `call_id` is another call, unless it says the same as one that has ended: vLLM mints new ids for its
 * final list (https://github.com/vllm-project/vllm/pull/47916).
 */
const isAnotherCall = (heard: HeardItem, item: Fields): boolean => {
  const [told, listed] = [heard.item.fields.call_id, item.call_id]
  if (!isCall(heard.item.kind) || !isText(told) || !isText(listed) || told === listed) return false
  return !heard.hasEnded || !itemSaysTheSame(heard, item)
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** Told one after the other as they stand in the list. */
const isInOrder = (items: readonly HeardItem[]): boolean =>
  items.every(({ toldAs }, at) => at === 0 || toldAs > items[at - 1]!.toldAs)

/** The same item again, by its id and its words. */
const isListedTwice = (found: HeardItem | undefined, item: Fields, claimed: ReadonlySet<HeardItem>): boolean =>
  found !== undefined && claimed.has(found) && found.id === idOf(item) && itemSaysTheSame(found, item)

/** On reasoning nothing depends. */
const saysSomething = ({ item }: HeardItem): boolean =>
  isCall(item.kind) || (item.kind === 'message' && item.parts.some(({ text }) => text !== ''))
