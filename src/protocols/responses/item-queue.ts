import type { Fields } from '../../lib/types.ts'
import type { StreamState } from '../shared/stream-state.ts'
import {
  type ItemEvent,
  type ItemKind,
  isCall,
  nameOfCall,
  type OutputItem,
  type OutputPart,
  type PartKind,
} from './item-events.ts'

/** An item while it is received, with the events that wait for its turn. */
export interface ReceivedItem {
  readonly item: OutputItem
  readonly index: number
  id: string | undefined
  openPart: OutputPart | undefined
  /** The provider has ended it. Held events may still wait for their turn. */
  hasEnded: boolean
  hasStarted: boolean
  /** Its number among the items that have started. */
  startOrder: number
  readonly held: ItemEvent[]
  /** Bytes of the text in these. */
  heldBytes: number
}

/** Answers have a handful of items, long agent turns some dozens. Items are searched linearly and get frames of their own. */
const ITEMS_MAX = 4096
const PARTS_MAX = 4096

const NO_EVENTS: readonly ItemEvent[] = []

interface NewItem extends Pick<OutputItem, 'kind' | 'fields'> {
  readonly id?: string | undefined
  readonly index: number
  readonly callId?: string | undefined
}

/**
 * Puts items one after the other. Providers may write several at once: the first one passes through as it comes, and events
 * of the others are held until their turn. Nothing is lost.
 */
export class ItemQueue {
  readonly #counts: Pick<StreamState, 'outputBytes' | 'heldBytes' | 'calls'>
  readonly #noArguments: '' | '{}'
  /** Items that still have events to come, in order. */
  readonly #waiting: ReceivedItem[] = []
  /** There are more items, or more parts of them, than any answer has. */
  isOverLimit = false
  #ready: ItemEvent[] = []
  #itemCount = 0
  #startedCount = 0
  #partCount = 0

  /** `noArguments`: sent for a call without arguments. Clients parse it, and an empty string is not JSON. */
  constructor(counts: Pick<StreamState, 'outputBytes' | 'heldBytes' | 'calls'>, noArguments: '' | '{}') {
    this.#counts = counts
    this.#noArguments = noArguments
  }

  add({ kind, fields, id, index, callId }: NewItem): ReceivedItem {
    this.#itemCount += 1
    if (this.#itemCount > ITEMS_MAX) this.isOverLimit = true
    const received: ReceivedItem = {
      item: { kind, fields, callId, opaque: undefined, parts: [], status: undefined },
      id,
      index,
      openPart: undefined,
      hasEnded: false,
      hasStarted: false,
      startOrder: 0,
      held: [],
      heldBytes: 0,
    }
    const later = this.#waiting.findIndex((other) => !other.hasStarted && other.index > index)
    this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, received)
    this.#advance()
    return received
  }

  /** Adds fields that came later, such as the name without which a call does not start. A call that has started keeps its name. */
  update({ item, hasStarted }: ReceivedItem, fields: Fields): void {
    const name = hasStarted && isCall(item.kind) ? { name: item.fields.name } : {}
    item.fields = { ...item.fields, ...fields, ...name }
    if (!hasStarted) this.#advance()
  }

  /** Appends text to a part that is open. */
  append(received: ReceivedItem, part: OutputPart, text: string, event: Fields | undefined): void {
    part.text += text
    this.#counts.outputBytes += Buffer.byteLength(text)
    this.#put(received, { type: 'delta', item: received.item, part, text, event })
  }

  /** Returns the open part if it has this kind and key; otherwise closes it and opens a new one. */
  openPart(received: ReceivedItem, kind: PartKind, key?: number, fields: Fields = {}): OutputPart {
    const { item, openPart } = received
    if (openPart?.kind === kind && (key === undefined || key === openPart.key)) return openPart
    if (openPart !== undefined) this.closePart(received)
    const isSummary = kind === 'summary_text'
    let index = 0
    for (const other of item.parts) if ((other.kind === 'summary_text') === isSummary) index += 1
    const part: OutputPart = {
      kind,
      key: key ?? index,
      fields,
      ended: undefined,
      isWhole: false,
      text: '',
      annotations: [],
    }
    item.parts.push(part)
    this.#partCount += 1
    if (this.#partCount > PARTS_MAX) this.isOverLimit = true
    received.openPart = part
    this.#put(received, { type: 'part-start', item, part })
    return part
  }

  closePart(received: ReceivedItem): void {
    const { item, openPart: part } = received
    if (part === undefined) return
    received.openPart = undefined
    part.ended ??= {}
    this.#put(received, { type: 'part-end', item, part })
  }

  annotate(received: ReceivedItem, part: OutputPart, event: Fields): void {
    const index = part.annotations.push(event.annotation) - 1
    this.#put(received, { type: 'annotation', item: received.item, part, event, index })
  }

  end(received: ReceivedItem, status: 'completed' | 'incomplete'): void {
    const { item } = received
    if (received.hasEnded) return
    // A call always has arguments, even if they are empty.
    if (isCall(item.kind) && item.parts.length === 0) {
      this.openPart(received, item.kind === 'function_call' ? 'arguments' : 'input')
    }
    const { openPart } = received
    if (openPart?.kind === 'arguments' && openPart.text === '' && status === 'completed' && this.#noArguments !== '') {
      this.append(received, openPart, this.#noArguments, undefined)
    }
    if (openPart !== undefined) this.closePart(received)
    received.hasEnded = true
    item.status = status
    this.#put(received, { type: 'item-end', item })
    this.#advance()
  }

  /** Ends all open items. Only the last item of a truncated answer is incomplete. */
  endAll(status: 'completed' | 'incomplete'): void {
    const open: ReceivedItem[] = []
    for (const received of this.#waiting) if (!received.hasEnded) open.push(received)
    for (const received of open) this.end(received, received === open.at(-1) ? status : 'completed')
  }

  /** The events that have become ready since the last call. */
  take(): readonly ItemEvent[] {
    const events = this.#ready
    if (events.length === 0) return NO_EVENTS
    this.#ready = []
    return events
  }

  /** Drops the ready events, and takes their text back. */
  discard(): void {
    for (const event of this.take().toReversed())
      if (event.type === 'delta') event.part.text = event.part.text.slice(0, -event.text.length)
  }

  #put(received: ReceivedItem, event: ItemEvent): void {
    if (received === this.#waiting[0] && received.hasStarted) {
      push(this.#ready, event)
      return
    }
    push(received.held, event)
    if (event.type !== 'delta') return
    const bytes = Buffer.byteLength(event.text)
    received.heldBytes += bytes
    this.#counts.heldBytes += bytes
    this.#endIdleBefore(received)
    this.#advance()
  }

  /** When text comes for a later item and all parts of the first item have ended, the end event of the first one is missing. */
  #endIdleBefore(received: ReceivedItem): void {
    for (let [first] = this.#waiting; first !== undefined && first !== received; [first] = this.#waiting) {
      const { parts } = first.item
      if (first.hasEnded || parts.length === 0 || parts.some(({ ended }) => ended === undefined)) return
      this.end(first, 'completed')
    }
  }

  /** Releases the held events of the items whose turn has come. */
  #advance(): void {
    const counts = this.#counts
    for (let [first] = this.#waiting; first !== undefined; first = this.#waiting[0]) {
      if (!first.hasStarted) {
        const name = isCall(first.item.kind) ? nameOfCall(first.item) : undefined
        // A call starts with its name, which may come late.
        if (name === '' && !first.hasEnded) return
        first.hasStarted = true
        first.startOrder = this.#startedCount++
        counts.outputBytes += Buffer.byteLength(name ?? '')
        if (name !== undefined) counts.calls += 1
        this.#ready.push({ type: 'item-start', item: first.item })
      }
      for (const event of first.held) this.#ready.push(event)
      first.held.length = 0
      counts.heldBytes -= first.heldBytes
      first.heldBytes = 0
      if (!first.hasEnded) return
      this.#waiting.shift()
    }
  }
}

export const partAt = (
  { item, openPart }: ReceivedItem,
  kind: PartKind,
  key: number | undefined,
): OutputPart | undefined =>
  openPart?.kind === kind && (key === undefined || openPart.key === key)
    ? openPart
    : item.parts.find((part) => part.kind === kind && (part.key === key || isCall(item.kind)))

/** Joins a delta to the one before it, where they belong to the same part and have no other fields. */
function push(events: ItemEvent[], event: ItemEvent): void {
  const last = events[events.length - 1]
  const continues =
    last?.type === 'delta' && event.type === 'delta' && last.part === event.part && !last.event && !event.event
  if (continues) events[events.length - 1] = { ...event, text: last.text + event.text }
  else events.push(event)
}

/**
 * Finds the item that an event means. Servers name it by id, by index, by both or by neither, and some change the id midway.
 * Items of hosted tools are remembered as `hosted`, so that their events are recognized.
 */
export class ReceivedItems {
  readonly all: ReceivedItem[] = []
  /** The next index, for an item that comes without one. */
  nextIndex = 0
  readonly #byId = new Map<string, ReceivedItem | 'hosted'>()
  readonly #byIndex = new Map<number, ReceivedItem | 'hosted'>()

  /** For an event about a part or text of a kind of item; undefined when it means no open item. */
  find({ item_id: id, output_index: index }: Fields, kind: ItemKind): ReceivedItem | 'hosted' | undefined {
    const named = typeof id === 'string' ? this.#byId.get(id) : undefined
    if (isOpen(named, kind)) return named
    const placed = typeof index === 'number' ? this.#byIndex.get(index) : undefined
    if (named === undefined && isOpen(placed, kind)) return placed
    // Without an id and an index, the event means the item that began last.
    if (id !== undefined || index !== undefined) return undefined
    const last = this.all[this.all.length - 1]
    return isOpen(last, kind) ? last : undefined
  }

  /** For the item itself, as it begins, ends, or stands in the whole response. */
  findItem(id: string | undefined, index: number | undefined, kind: ItemKind): ReceivedItem | 'hosted' | undefined {
    const named = id === undefined ? undefined : this.#byId.get(id)
    if (named !== undefined) return named
    const placed = index === undefined ? undefined : this.#byIndex.get(index)
    return placed !== undefined && placed !== 'hosted' && placed.item.kind === kind ? placed : undefined
  }

  /** The ended item that an event names by its id, its index, or both. */
  findEnded({ item_id: id, output_index: index }: Fields): ReceivedItem | undefined {
    if (id === undefined && index === undefined) return undefined
    return this.all.find(
      (item) =>
        item.hasEnded &&
        (id === undefined || item.id === undefined || item.id === id) &&
        (index === undefined || item.index === index),
    )
  }

  add(received: ReceivedItem): void {
    this.all.push(received)
    this.#set(received.id, received.index, received)
  }

  addHosted(id: string | undefined, index = this.nextIndex): void {
    this.#set(id, index, 'hosted')
  }

  #set(id: string | undefined, index: number, item: ReceivedItem | 'hosted'): void {
    this.#byIndex.set(index, item)
    if (id !== undefined) this.#byId.set(id, item)
    this.nextIndex = Math.max(this.nextIndex, index + 1)
  }
}

const isOpen = (found: ReceivedItem | 'hosted' | undefined, kind: ItemKind): found is ReceivedItem | 'hosted' =>
  found === 'hosted' || (found !== undefined && !found.hasEnded && found.item.kind === kind)
