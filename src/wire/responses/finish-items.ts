import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Opaque } from '../../model/event.ts'
import type { Heard } from '../heard.ts'
import { callsAnother, DISAGREES, hasEveryPart, saysTheSame, textOf } from './answer-faults.ts'
import type { HeardItems } from './heard-items.ts'
import { type HeardItem, type ItemQueue, partAt } from './item-queue.ts'
import { ITEM_OF_PART, itemKindOf, partKindOf, wordsOfPart } from './part-kinds.ts'
import type { PartKind, SpokenItem, SpokenPart } from './spoken-item.ts'

// How items begin and come to their ends, whatever event says so.

export interface Hearing {
  readonly heard: Heard
  readonly items: HeardItems
  readonly queue: ItemQueue
  readonly origin: string
  readonly functionsAreCustom: boolean
}

export const isReasoning = (kind: PartKind): boolean => ITEM_OF_PART[kind] === 'reasoning'

/** The item that words belong to; where nobody has announced it, it begins with them. */
export function itemFor(hearing: Hearing, kind: PartKind, event: Fields): HeardItem | 'not-ours' {
  const type = ITEM_OF_PART[kind]
  const found = hearing.items.find(event, type)
  if (found !== undefined) return found
  const index = typeof event.output_index === 'number' ? event.output_index : hearing.items.nextIndex()
  const id = typeof event.item_id === 'string' ? event.item_id : undefined
  const heard = hearing.queue.add({ kind: type, fields: {}, id, index })
  hearing.items.add(heard)
  return heard
}

export function itemOf(
  hearing: Hearing,
  item: Fields,
  index: number | undefined,
  isNew: boolean,
): HeardItem | undefined {
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
  else if (callsAnother(found.item, item)) hearing.heard.invalid ??= DISAGREES
  return found
}

export function begin(hearing: Hearing, item: Fields, index: number, id = idOf(item)): HeardItem | undefined {
  const kind = itemKindOf(item)
  if (kind === undefined) return undefined
  const heard = hearing.queue.add({ kind, fields: item, id, index })
  heard.item.opaque = opaqueIn(heard.item, hearing)
  hearing.items.add(heard)
  return heard
}

export function learn(hearing: Hearing, heard: HeardItem, item: Fields): void {
  // The name of a call that no client has been told of yet may still be corrected.
  if (heard.hasStarted && callsAnother(heard.item, item)) hearing.heard.invalid ??= DISAGREES
  hearing.queue.learn(heard, item)
  heard.item.opaque = opaqueIn(heard.item, hearing)
}

function opaqueIn({ kind, fields: { encrypted_content: data } }: SpokenItem, { origin }: Hearing): Opaque | undefined {
  const isSealed = (kind === 'reasoning' || kind === 'compaction') && typeof data === 'string' && data !== ''
  return isSealed ? { wire: 'responses', origin, data } : undefined
}

/** The item as a whole: what of it has not been told is told now. */
export function finishItem(hearing: Hearing, heard: HeardItem, item: Fields, status: 'completed' | 'incomplete'): void {
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
    if (heard.item.kind === 'message' && Array.isArray(item.content) && !hasEveryPart(heard, item.content))
      hearing.heard.invalid ??= DISAGREES
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

export function finishPart(
  hearing: Hearing,
  heard: HeardItem,
  kind: PartKind,
  key: number | undefined,
  fields: Fields,
): void {
  const { queue } = hearing
  const known = partAt(heard, kind, key)
  if (known !== undefined && known !== heard.openPart) {
    known.fields = fields
    agree(hearing, known, wordsOfPart(fields, kind))
    return
  }
  const part = queue.openPart(heard, kind, key, fields)
  complete(hearing, heard, part, wordsOfPart(fields, kind))
  part.fields = fields
  part.isWhole = true
  queue.closePart(heard)
}

/** What was said in deltas stays said: only words that are missing behind them are told. */
export function complete(hearing: Hearing, heard: HeardItem, part: SpokenPart, whole: unknown): void {
  const words = textOf(whole)
  if (words.length > part.text.length && words.startsWith(part.text)) {
    hearing.queue.say(heard, part, words.slice(part.text.length), undefined)
  } else agree(hearing, part, whole)
}

interface PartEnd {
  readonly kind: PartKind
  readonly key: number | undefined
  readonly whole: unknown
}

/** The same of an item that is over: nothing can be added to it. */
export function agreeWithEnded(hearing: Hearing, over: HeardItem, { kind, key, whole }: PartEnd): void {
  const part = partAt(over, kind, key)
  if (part !== undefined) agree(hearing, part, whole)
  else if (!isReasoning(kind) && textOf(whole) !== '') hearing.heard.invalid ??= DISAGREES
}

/** What stands at the end is what was said. */
export function agree({ heard }: Hearing, part: SpokenPart, whole: unknown): void {
  if (!saysTheSame(part, whole)) heard.invalid ??= DISAGREES
}

export const idOf = ({ id }: Fields): string | undefined => textIn(id)
const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
