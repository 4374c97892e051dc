import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject } from '../../lib/types.ts'
import { tryParse } from '../json/bytes.ts'
import { JsonProgress } from '../json/syntax.ts'
import type { StreamState } from '../shared/stream-state.ts'
import { BROKEN_ARGUMENTS, NAMELESS_CALL } from '../tools/tool-names.ts'
import {
  hasProviderFields,
  ITEM_OF_PART,
  isCall,
  itemKindOf,
  nameOfCall,
  type OutputItem,
  type OutputPart,
  type PartKind,
  partKeyOf,
  partKindOf,
  textOfPart,
} from './item-events.ts'
import { ItemQueue, partAt, type ReceivedItem, ReceivedItems } from './item-queue.ts'

interface ItemParserOptions {
  readonly origin: string
  /** Functions may stand for custom tools of the client, whose input need not be JSON. */
  readonly functionsAreCustom: boolean
}

/** Parses a provider's item events: it infers what is missing and passes on once what comes twice. */
export class ItemParser {
  /** Holds the parsed events. */
  readonly queue: ItemQueue
  readonly #items = new ReceivedItems()
  readonly #state: StreamState
  readonly #options: ItemParserOptions

  constructor(state: StreamState, options: ItemParserOptions) {
    this.queue = new ItemQueue(state, options.functionsAreCustom ? '' : '{}')
    this.#state = state
    this.#options = options
  }

  /** Unknown events are ignored: strict clients throw at events that they do not know. */
  parse(type: string, event: Fields): void {
    const known = EVENTS.get(type)
    if (known?.stage === 'delta') this.#parseDelta(known.kind, event)
    else if (known?.stage === 'done') this.#parseTextEnd(known.kind, event, event[known.field])
    else if (known?.stage === 'item-added') this.#parseItem(event, true)
    else if (known?.stage === 'item-done') this.#parseItem(event, false)
    else if (known?.stage === 'part-added') this.#parsePartStart(event)
    else if (known?.stage === 'part-done') this.#parsePartEnd(event)
    else if (known?.stage === 'annotation') this.#parseAnnotation(event)
  }

  #parseDelta(kind: PartKind, event: Fields): void {
    const { delta } = event
    if (typeof delta !== 'string' || delta === '') return
    if (this.#isAfterEnd(kind, event)) {
      this.#state.invalid ??= 'content after the end of its item'
      return
    }
    if (isReasoning(kind) && this.#isRepetition(kind, event)) return
    const received = this.#itemFor(kind, event)
    if (received === 'hosted') return
    const part = this.queue.openPart(received, kind, partKeyOf(event, kind))
    this.queue.append(received, part, delta, hasProviderFields(event) ? event : undefined)
  }

  /**
   * Whether a delta comes after the end of its item or part. Reasoning is exempt: nothing depends on where its text is, and some
   * servers send its parts interleaved.
   */
  #isAfterEnd(kind: PartKind, event: Fields): boolean {
    if (isReasoning(kind)) return false
    const received = this.#items.find(event, ITEM_OF_PART[kind])
    if (received === 'hosted') return false
    if (received === undefined) return this.#items.findEnded(event) !== undefined
    const part = partAt(received, kind, partKeyOf(event, kind))
    return part !== undefined && (part !== received.openPart || part.isWhole)
  }

  /** Whether the event's part has been repeated as a whole already. */
  #isRepetition(kind: PartKind, event: Fields): boolean {
    const received = this.#items.find(event, ITEM_OF_PART[kind]) ?? this.#items.findEnded(event)
    if (received === undefined || received === 'hosted') return false
    return partAt(received, kind, partKeyOf(event, kind))?.isWhole === true
  }

  /** A done event repeats the whole text of a part. It counts where deltas are missing. */
  #parseTextEnd(kind: PartKind, event: Fields, whole: unknown): void {
    const known = this.#items.find(event, ITEM_OF_PART[kind])
    const key = partKeyOf(event, kind)
    const ended = known === undefined ? this.#items.findEnded(event) : undefined
    if (ended !== undefined) {
      this.#compareEnded(ended, kind, key, whole)
      return
    }
    const received = known ?? this.#itemFor(kind, event)
    if (received === 'hosted') return
    const earlier = partAt(received, kind, key)
    if (earlier !== undefined && earlier !== received.openPart) {
      this.#compare(earlier, whole)
      return
    }
    const { name } = event
    if (isCall(received.item.kind) && typeof name === 'string' && name !== '') this.#update(received, { name })
    const part = this.queue.openPart(received, kind, key)
    this.#complete(received, part, whole)
    part.ended = event
    part.isWhole = true
  }

  #parseItem(event: Fields, begins: boolean): void {
    if (!isObject(event.item)) return
    let fields = event.item
    if (begins && fields.type === 'reasoning') {
      // Sealed data is shorter at the start of its item, and the provider takes back only the one at the end.
      const { encrypted_content: _unfinished, ...rest } = fields
      fields = rest
    }
    const received = this.#findOrBegin(
      fields,
      typeof event.output_index === 'number' ? event.output_index : undefined,
      begins,
    )
    if (received === undefined || begins) return
    if (!received.hasEnded) this.#finishItem(received, fields, 'completed')
    else if (!isSameItem(received, fields)) this.#disagree()
  }

  #parsePartStart(event: Fields): void {
    const part = isObject(event.part) ? event.part : {}
    const kind = partKindOf(part)
    if (kind === undefined || this.#isRepetition(kind, event)) return
    const received = this.#itemFor(kind, event)
    if (received !== 'hosted') this.queue.openPart(received, kind, partKeyOf(event, kind), part)
  }

  #parsePartEnd(event: Fields): void {
    const part = isObject(event.part) ? event.part : {}
    const kind = partKindOf(part)
    if (kind === undefined) return
    const key = partKeyOf(event, kind)
    const whole = textOfPart(part, kind)
    const known = this.#items.find(event, ITEM_OF_PART[kind])
    const ended = known === undefined ? this.#items.findEnded(event) : undefined
    if (ended !== undefined) {
      this.#compareEnded(ended, kind, key, whole)
      return
    }
    const received = known ?? (jsonOrText(whole) === '' ? undefined : this.#itemFor(kind, event))
    if (received !== undefined && received !== 'hosted') this.#finishPart(received, kind, key, part)
  }

  #parseAnnotation(event: Fields): void {
    const received = this.#items.find(event, 'message')
    if (received === undefined || received === 'hosted' || event.annotation === undefined) return
    if (received.openPart?.kind === 'output_text') this.queue.annotate(received, received.openPart, event)
  }

  /** Parses the items of a whole response. Those that came before are compared, and then all items end. */
  parseOutput(output: unknown, status: 'completed' | 'incomplete'): void {
    const claimed = new Set<ReceivedItem>()
    const listed = Array.isArray(output) ? output : []
    const ids = new Set(listed.map((item) => (isObject(item) ? nonEmpty(item.id) : undefined)))
    for (const [index, item] of listed.entries()) {
      if (this.queue.isOverLimit) return
      if (!isObject(item)) continue
      const kind = itemKindOf(item)
      if (kind === undefined) continue
      const found = this.#items.findItem(nonEmpty(item.id), index, kind)
      if (found === 'hosted') {
        // It came as a hosted tool's item, so its content was ignored.
        this.#disagree()
        continue
      }
      const isClaimed = found !== undefined && claimed.has(found)
      if (isClaimed && found.id === nonEmpty(item.id) && isSameItem(found, item)) continue
      const isFree = (other: ReceivedItem) =>
        other.item.kind === kind &&
        !claimed.has(other) &&
        (other.id === undefined || !ids.has(other.id)) &&
        !isAnotherCall(other, item)
      // Where id and index do not help, the next free item of its kind is meant, so that nothing is passed on twice.
      const known = found !== undefined && !isClaimed ? found : this.#items.all.find(isFree)
      const received = known ?? this.#begin(item, this.#items.nextIndex, nonEmpty(item.id))
      if (received === undefined) continue
      claimed.add(received)
      // Only the last item of a truncated answer is truncated.
      if (!received.hasEnded) this.#finishItem(received, item, index === listed.length - 1 ? status : 'completed')
      else if (!isSameItem(received, item)) this.#disagree()
    }
    const isMissing = (received: ReceivedItem) => !claimed.has(received) && hasContent(received)
    if (claimed.size > 0 && this.#items.all.some(isMissing)) this.#disagree()
    this.queue.endAll(status)
    const order = [...claimed].filter(hasContent).map(({ startOrder }) => startOrder)
    if (order.some((place, at) => at > 0 && place <= order[at - 1]!)) this.#disagree()
  }

  /** What is wrong with the calls of a finished answer. The last item of an incomplete one may be truncated. */
  faultInCalls(ending: 'completed' | 'incomplete'): string | undefined {
    const { all } = this.#items
    if (all.some(({ item }) => isCall(item.kind) && nameOfCall(item) === '')) return NAMELESS_CALL
    if (this.#options.functionsAreCustom) return undefined
    const mayBeTruncated = ending === 'incomplete' ? all.at(-1) : undefined
    const isBroken = (received: ReceivedItem) =>
      received.item.kind === 'function_call' &&
      received.item.parts.some(({ text }) => {
        const json = new JsonProgress()
        json.feed(text)
        return received === mayBeTruncated ? json.state === 'broken' : json.state !== 'whole'
      })
    return all.some(isBroken) ? BROKEN_ARGUMENTS : undefined
  }

  /** The item that a part belongs to. It begins with the part if no event has announced it. */
  #itemFor(kind: PartKind, event: Fields): ReceivedItem | 'hosted' {
    const itemKind = ITEM_OF_PART[kind]
    const found = this.#items.find(event, itemKind)
    if (found !== undefined) return found
    const index = typeof event.output_index === 'number' ? event.output_index : this.#items.nextIndex
    const id = typeof event.item_id === 'string' ? event.item_id : undefined
    const received = this.queue.add({ kind: itemKind, fields: {}, id, index })
    this.#items.add(received)
    return received
  }

  /** The item that is added or done. Undefined for a hosted tool's. */
  #findOrBegin(fields: Fields, index: number | undefined, isNew: boolean): ReceivedItem | undefined {
    const kind = itemKindOf(fields)
    const id = nonEmpty(fields.id) ?? (index === undefined ? nonEmpty(fields.call_id) : undefined)
    if (kind === undefined) {
      this.#items.addHosted(id, index)
      return undefined
    }
    const found = this.#items.findItem(id, index, kind)
    if (found === 'hosted') return undefined
    // A new id at an index that is taken is a new item.
    const isAnother = isNew && id !== undefined && found?.id !== undefined && found.id !== id
    if (found === undefined || isAnother) return this.#begin(fields, index ?? this.#items.nextIndex, id)
    found.id ??= id
    if (!found.hasEnded) this.#update(found, fields)
    else if (hasAnotherName(found.item, fields)) this.#disagree()
    return found
  }

  #begin(fields: Fields, index: number, id: string | undefined): ReceivedItem | undefined {
    const kind = itemKindOf(fields)
    if (kind === undefined) return undefined
    const received = this.queue.add({ kind, fields, id, index })
    this.#readSeal(received.item)
    this.#items.add(received)
    return received
  }

  #update(received: ReceivedItem, fields: Fields): void {
    // The name of a call may change until the call starts.
    if (received.hasStarted && hasAnotherName(received.item, fields)) this.#disagree()
    this.queue.update(received, fields)
    this.#readSeal(received.item)
  }

  #readSeal(item: OutputItem): void {
    const { encrypted_content: data } = item.fields
    const isSealed = item.kind === 'reasoning' || item.kind === 'compaction'
    item.opaque =
      isSealed && typeof data === 'string' && data !== ''
        ? { wire: 'responses', origin: this.#options.origin, data }
        : undefined
  }

  /** Adds what a whole item has beyond its events, and ends it. */
  #finishItem(received: ReceivedItem, fields: Fields, status: 'completed' | 'incomplete'): void {
    this.#update(received, fields)
    const { kind } = received.item
    if (kind === 'function_call') {
      this.#complete(received, this.queue.openPart(received, 'arguments'), fields.arguments)
    } else if (kind === 'custom_tool_call') {
      this.#complete(received, this.queue.openPart(received, 'input'), fields.input)
    } else {
      const { summary, content } = fields
      this.#finishParts(received, summary)
      this.#finishParts(received, typeof content === 'string' ? [{ type: 'text', text: content }] : content)
      if (kind === 'message' && Array.isArray(content) && !hasEveryPart(received.item, content)) this.#disagree()
    }
    const own = fields.status === 'incomplete' || fields.status === 'completed' ? fields.status : status
    this.queue.end(received, own)
  }

  #finishParts(received: ReceivedItem, parts: unknown): void {
    if (!Array.isArray(parts)) return
    for (const [index, part] of parts.entries()) {
      if (this.queue.isOverLimit) return
      const kind = isObject(part) ? partKindOf(part) : undefined
      if (kind !== undefined && ITEM_OF_PART[kind] === received.item.kind) this.#finishPart(received, kind, index, part)
    }
  }

  #finishPart(received: ReceivedItem, kind: PartKind, key: number | undefined, fields: Fields): void {
    const whole = textOfPart(fields, kind)
    const earlier = partAt(received, kind, key)
    if (earlier !== undefined && earlier !== received.openPart) {
      earlier.fields = fields
      this.#compare(earlier, whole)
      return
    }
    const part = this.queue.openPart(received, kind, key, fields)
    this.#complete(received, part, whole)
    part.fields = fields
    part.isWhole = true
    this.queue.closePart(received)
  }

  /** Appends the text that the deltas of a part have left out. Deltas are never taken back. */
  #complete(received: ReceivedItem, part: OutputPart, whole: unknown): void {
    const text = jsonOrText(whole)
    if (text.length > part.text.length && text.startsWith(part.text)) {
      this.queue.append(received, part, text.slice(part.text.length), undefined)
    } else this.#compare(part, whole)
  }

  #compare(part: OutputPart, whole: unknown): void {
    if (!hasSameText(part, whole)) this.#disagree()
  }

  /** Nothing can be added to an item that has ended. */
  #compareEnded(ended: ReceivedItem, kind: PartKind, key: number | undefined, whole: unknown): void {
    const part = partAt(ended, kind, key)
    if (part !== undefined) this.#compare(part, whole)
    else if (!isReasoning(kind) && jsonOrText(whole) !== '') this.#disagree()
  }

  #disagree(): void {
    this.#state.invalid ??= 'the end of an item does not match what came before it'
  }
}

/** A stream event that is about items, and for text events the part kind and the field of the whole text. */
type KnownEvent =
  | { readonly stage: 'delta'; readonly kind: PartKind }
  | { readonly stage: 'done'; readonly kind: PartKind; readonly field: string }
  | { readonly stage: 'item-added' | 'item-done' | 'part-added' | 'part-done' | 'annotation' }

const textEvents = (name: string, kind: PartKind, field: string): [string, KnownEvent][] => [
  [`response.${name}.delta`, { stage: 'delta', kind }],
  [`response.${name}.done`, { stage: 'done', kind, field }],
]

const EVENTS: ReadonlyMap<string, KnownEvent> = new Map<string, KnownEvent>([
  ...textEvents('output_text', 'output_text', 'text'),
  ...textEvents('refusal', 'refusal', 'refusal'),
  ...textEvents('reasoning_text', 'reasoning_text', 'text'),
  // The name of the same event in Open Responses.
  ...textEvents('reasoning', 'reasoning_text', 'text'),
  ...textEvents('reasoning_summary_text', 'summary_text', 'text'),
  ...textEvents('function_call_arguments', 'arguments', 'arguments'),
  ...textEvents('custom_tool_call_input', 'input', 'input'),
  ['response.output_item.added', { stage: 'item-added' }],
  ['response.output_item.done', { stage: 'item-done' }],
  ['response.content_part.added', { stage: 'part-added' }],
  ['response.content_part.done', { stage: 'part-done' }],
  ['response.reasoning_summary_part.added', { stage: 'part-added' }],
  ['response.reasoning_summary_part.done', { stage: 'part-done' }],
  ['response.output_text.annotation.added', { stage: 'annotation' }],
])

const isReasoning = (kind: PartKind): boolean => ITEM_OF_PART[kind] === 'reasoning'

const nonEmpty = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** The text that a done event carries; '' for none. Arguments may come as an object. */
const jsonOrText = (whole: unknown): string =>
  typeof whole === 'string' ? whole : isObject(whole) ? JSON.stringify(whole) : ''

/**
 * Whether the text of a done event agrees with the deltas before it. Servers may omit it there, trim it, or reformat the JSON of
 * arguments. Reasoning is not compared, because nothing depends on its text.
 */
function hasSameText({ kind, text }: OutputPart, whole: unknown): boolean {
  const wholeText = jsonOrText(whole)
  if (wholeText === '' || wholeText === text || isReasoning(kind)) return true
  if (wholeText.trim() === text.trim()) return true
  if (kind !== 'arguments') return false
  const value = tryParse(text)
  if (value === undefined) return false
  try {
    return isDeepStrictEqual(value, tryParse(wholeText))
  } catch {
    // JSON that is nested too deeply to be compared does not count as the same.
    return false
  }
}

/** The same for a finished item as it appears in the whole response. */
function isSameItem(received: ReceivedItem, listed: Fields): boolean {
  const { item } = received
  const agrees = (kind: PartKind, key: number | undefined, whole: unknown): boolean => {
    const part = partAt(received, kind, key)
    return part === undefined ? jsonOrText(whole) === '' : hasSameText(part, whole)
  }
  if (hasAnotherName(item, listed)) return false
  if (item.kind === 'function_call') return agrees('arguments', undefined, listed.arguments)
  if (item.kind === 'custom_tool_call') return agrees('input', undefined, listed.input)
  if (item.kind !== 'message' || !Array.isArray(listed.content)) return true
  if (!hasEveryPart(item, listed.content)) return false
  return listed.content.every((part, index) => {
    const kind = isObject(part) ? partKindOf(part) : undefined
    return kind === undefined || agrees(kind, index, textOfPart(part, kind))
  })
}

/** Whether all parts of a message with text stand in its final content, where that has any. */
const hasEveryPart = ({ parts }: OutputItem, content: readonly unknown[]): boolean =>
  content.length === 0 ||
  parts.every(({ kind, key, text }) => {
    const listed = content[key]
    return text === '' || (isObject(listed) && partKindOf(listed) === kind)
  })

function hasAnotherName(item: OutputItem, { name }: Fields): boolean {
  if (!isCall(item.kind) || typeof name !== 'string' || name === '') return false
  const known = nameOfCall(item)
  return known !== '' && name !== known
}

/**
 * A listed call under another `call_id` is another call, unless it has the content of one that has ended: vLLM mints new ids for its
 * final list (https://github.com/vllm-project/vllm/pull/47916).
 */
function isAnotherCall(received: ReceivedItem, listed: Fields): boolean {
  const [known, other] = [nonEmpty(received.item.fields.call_id), nonEmpty(listed.call_id)]
  if (!isCall(received.item.kind) || known === undefined || other === undefined || known === other) return false
  return !received.hasEnded || !isSameItem(received, listed)
}

/** Nothing depends on reasoning. */
const hasContent = ({ item }: ReceivedItem): boolean =>
  isCall(item.kind) || (item.kind === 'message' && item.parts.some(({ text }) => text !== ''))
