import { assertNever, type Fields } from '../../lib/types.ts'
import type { CallStart, FinishReason, Opaque, TokenLogprob, TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../shared/codec-types.ts'
import { copyState, newStreamState } from '../shared/stream-state.ts'
import type { EmitOptions } from './emit-items.ts'
import {
  type AnswerEnding,
  type DeltaEvent,
  type ItemEvent,
  type ItemEventSource,
  type ItemKind,
  isCall,
  type OutputPart,
  type PartKind,
} from './item-events.ts'
import { ItemQueue, type ReceivedItem } from './item-queue.ts'

/** Converts another protocol's answer to item events, for a client that speaks Responses. */
export class ItemBuilder implements ItemEventSource {
  readonly state = newStreamState()
  readonly #reader: EventReader
  readonly #rawReasoning: EmitOptions['rawReasoning']
  readonly #counts = { outputBytes: 0, heldBytes: 0, calls: 0 }
  readonly #queue = new ItemQueue(this.#counts, '')
  /** The calls that go on, by their numbers. */
  readonly #calls = new Map<number, ReceivedItem>()
  #itemCount = 0
  /** The item that began last. */
  #last: ReceivedItem | undefined
  /** The same, where it ends when the next one begins: a message, a reasoning, or a call that is over. */
  #current: ReceivedItem | undefined
  /** The next reasoning text starts a new part. */
  #breaksPart = false
  #lastReasoning: 'reasoning-delta' | 'summary-delta' | undefined
  /** Tokens with their alternatives. */
  #logprobs = 0
  /** Seals that came in the middle of a message, and stand behind it. */
  #seals: Opaque[] = []
  #ending: AnswerEnding | undefined

  constructor(reader: EventReader, rawReasoning: EmitOptions['rawReasoning']) {
    this.#reader = reader
    this.#rawReasoning = rawReasoning
  }

  get repeatDelta(): ItemEventSource['repeatDelta'] {
    return this.#reader.repeatText && this.#repeatDelta
  }

  readonly #repeatDelta = (last: DeltaEvent, text: string): DeltaEvent => {
    this.#reader.repeatText?.(text)
    this.#copyState()
    last.part.text += text
    return { ...last, text }
  }

  read(frame: Buffer): readonly ItemEvent[] {
    const queue = this.#queue
    for (const event of this.#reader.read(frame)) {
      // Only usage comes after the end.
      if (this.#ending === undefined && !queue.isOverLimit) this.#add(event)
    }
    this.#copyState()
    if (queue.isOverLimit) this.state.invalid = 'too many items'
    return queue.take()
  }

  #copyState(): void {
    const { state } = this
    copyState(this.#reader.state, state)
    // The reader may hold events back too, so the bytes that the queue holds are added to its own.
    state.heldBytes = Math.min(state.heldBytes + this.#counts.heldBytes, state.outputBytes)
  }

  ending(): AnswerEnding | undefined {
    return this.#ending
  }

  #add(event: TurnEvent): void {
    const { type } = event
    if (type === 'text-delta') this.#addText('output_text', event.text, event.logprobs ?? [])
    else if (type === 'refusal-delta') this.#addText('refusal', event.text, [])
    else if (type === 'reasoning-delta' || type === 'summary-delta') this.#addReasoning(type, event.text)
    else if (type === 'summary-start') this.#breaksPart = true
    else if (type === 'message-start') this.#begin('message', event.phase === undefined ? {} : { phase: event.phase })
    else if (type === 'reasoning-start') this.#begin('reasoning', {})
    else if (type === 'reasoning-seal') this.#addSeal(event.opaque)
    else if (type === 'tool-call-start') this.#beginCall(event)
    else if (type === 'tool-call-delta') this.#addArguments(event.call, event.text)
    else if (type === 'tool-call-end') this.#endCall(event.call)
    else if (type === 'turn-end') {
      this.#placeSeals()
      this.#ending = ENDINGS[event.reason]
      this.#queue.endAll(this.#ending.kind)
    }
    // Usage is in the reader's state.
    else if (type !== 'usage') assertNever(event)
  }

  #begin(kind: ItemKind, fields: Fields, callId?: string): ReceivedItem {
    this.#placeSeals()
    if (this.#current !== undefined) this.#queue.end(this.#current, 'completed')
    const item = this.#queue.add({ kind, fields, index: this.#itemCount, callId })
    this.#itemCount += 1
    this.#last = item
    this.#current = isCall(kind) ? undefined : item
    this.#breaksPart = false
    return item
  }

  /** The open part, or a new one. */
  #partOf(item: ReceivedItem, kind: PartKind): OutputPart {
    if (item.openPart?.kind === kind) return item.openPart
    const fields = kind === 'output_text' ? { type: kind, text: '', annotations: [], logprobs: [] } : {}
    return this.#queue.openPart(item, kind, undefined, fields)
  }

  #addText(kind: PartKind, text: string, logprobs: readonly TokenLogprob[]): void {
    if (text === '' && logprobs.length === 0) return
    const current = this.#current
    const message = current?.item.kind === 'message' ? current : this.#begin('message', {})
    const part = this.#partOf(message, kind)
    const isFirst = part.text === ''
    for (const { top } of logprobs) this.#logprobs += 1 + top.length
    const fields = addLogprobs(part, logprobs, this.#logprobs <= LOGPROBS_KEPT_MAX)
    // Logprobs of tokens without text are sent with the first text of the part.
    if (isFirst && text === '') return
    this.#queue.append(message, part, text, fields.length === 0 ? undefined : { logprobs: fields })
  }

  /** A reasoning item has summaries or raw text, never both: where a lane sends both, there are two items. */
  #addReasoning(type: 'reasoning-delta' | 'summary-delta', text: string): void {
    if (text === '') return
    const isSummary = type === 'summary-delta' || this.#rawReasoning === 'as-summary'
    const kind = isSummary ? 'summary_text' : 'reasoning_text'
    const current = this.#current
    const continues = current?.item.kind === 'reasoning' && (current.item.parts[0]?.kind ?? kind) === kind
    const reasoning = continues ? current : this.#begin('reasoning', {})
    if (this.#breaksPart || this.#lastReasoning !== type) this.#queue.closePart(reasoning)
    this.#breaksPart = false
    this.#lastReasoning = type
    this.#queue.append(reasoning, this.#partOf(reasoning, kind), text, undefined)
  }

  /** Two seals go into two reasoning items: providers want them back one by one. */
  #addSeal(opaque: Opaque): void {
    const current = this.#current
    if (current?.item.kind === 'message') {
      // More of them than a message may have are none of a provider.
      if (this.#seals.length < SEALS_MAX) this.#seals.push(opaque)
      return
    }
    const isOpen = current?.item.kind === 'reasoning' && current.item.opaque === undefined
    const sealed = isOpen ? current : this.#begin('reasoning', {})
    sealed.item.opaque = opaque
  }

  #placeSeals(): void {
    if (this.#seals.length === 0) return
    for (const opaque of this.#seals.splice(0)) this.#begin('reasoning', {}).item.opaque = opaque
  }

  #beginCall({ call, callId, name, namespace, tool }: CallStart): void {
    this.#endCall(call)
    const isCustom = tool === 'custom'
    const fields = namespace === undefined ? { name } : { name, namespace }
    const item = this.#begin(isCustom ? 'custom_tool_call' : 'function_call', fields, callId)
    this.#queue.openPart(item, isCustom ? 'input' : 'arguments')
    this.#calls.set(call, item)
  }

  #addArguments(call: number, text: string): void {
    const item = this.#calls.get(call)
    if (item?.openPart !== undefined && text !== '') this.#queue.append(item, item.openPart, text, undefined)
  }

  #endCall(call: number): void {
    const item = this.#calls.get(call)
    if (item === undefined) return
    this.#calls.delete(call)
    if (item === this.#last) this.#current = item
    else this.#queue.end(item, 'completed')
  }
}

const SEALS_MAX = 64

const ENDINGS: Readonly<Record<FinishReason, AnswerEnding>> = {
  stop: { kind: 'completed' },
  'tool-calls': { kind: 'completed' },
  length: { kind: 'incomplete', reason: 'max_output_tokens' },
  'content-filter': { kind: 'incomplete', reason: 'content_filter' },
}

/**
 * Tokens and alternatives that the whole text has in the events of its end: an answer has them all in memory. The events of its deltas
 * have those of all tokens.
 */
const LOGPROBS_KEPT_MAX = 100_000

/** Adds logprobs to a part, and returns those that go with its next text. */
function addLogprobs(
  { fields, text }: OutputPart,
  logprobs: readonly TokenLogprob[],
  keeps: boolean,
): readonly Fields[] {
  const added = logprobs.map(logprobFields)
  const all = fields.logprobs
  if (!Array.isArray(all) || !keeps) return added
  for (const token of added) all.push(token)
  return text === '' ? [...all] : added
}

/** Clients require a list of bytes, even where a provider sends none. */
const logprobFields = ({ token, logprob, bytes, top }: TokenLogprob): Fields => ({
  token,
  logprob,
  bytes: bytes ?? [],
  top_logprobs: top.map((other) => ({ token: other.token, logprob: other.logprob, bytes: other.bytes ?? [] })),
})
