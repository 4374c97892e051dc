import { assertNever } from '../../lib/types.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { EventReader, MintIds, ReaderOptions } from '../shared/codec-types.ts'
import { readLogprobs } from '../shared/texts.ts'
import type { ResponsesDialect } from './dialects.ts'
import {
  type AnswerEnding,
  type DeltaEvent,
  type ItemEvent,
  isCall,
  isRepeatable,
  nameOfCall,
  type OutputItem,
  type OutputPart,
} from './item-events.ts'
import { readPhase } from './parse-conversation.ts'
import { createItemEventReader, type ItemEventReader } from './read-stream.ts'

/** Reads a lane that speaks Responses for a client of another protocol, or for tools that the lane does not know. */
export function createEventReader({ mint, origin }: ReaderOptions<ResponsesDialect>): EventReader {
  const items = createItemEventReader(origin, { functionsAreCustom: true })
  const converter = new EventConverter(items, mint)
  let last: ItemEvent | undefined
  const repeatText = (text: string): void => {
    if (isRepeatable(last)) items.repeatDelta(last, text)
  }
  return {
    state: items.state,
    get repeatText() {
      return isRepeatable(last) ? repeatText : undefined
    },
    read(frame) {
      const wasOver = items.state.finished
      const received = items.read(frame)
      if (received.length === 0 && items.state.finished === wasOver) return NO_EVENTS
      last = received[0]
      const events: TurnEvent[] = []
      for (const event of received) converter.convert(event, events)
      if (items.state.finished && !wasOver) converter.end(events)
      return events
    },
  }
}

const NO_EVENTS: readonly TurnEvent[] = []

/** Converts item events to turn events. */
class EventConverter {
  readonly #items: ItemEventReader
  readonly #mint: MintIds
  /** The number of the current call: calls come one after the other. */
  #call = -1
  /** The current message or reasoning. It starts with its first text, so empty ones are left out. */
  #started: OutputItem | undefined
  /** The current part of a summary. */
  #summary: OutputPart | undefined

  constructor(items: ItemEventReader, mint: MintIds) {
    this.#items = items
    this.#mint = mint
  }

  convert(event: ItemEvent, events: TurnEvent[]): void {
    switch (event.type) {
      case 'item-start':
        if (isNamedCall(event.item)) events.push(this.#startCall(event.item))
        break
      case 'delta':
        this.#convertDelta(event, events)
        break
      case 'item-end': {
        const { item } = event
        if (isNamedCall(item)) events.push({ type: 'tool-call-end', call: this.#call })
        // The seal at the end of an item is the right one: the one at its start is shorter.
        else if (item.kind === 'reasoning' && item.opaque !== undefined) {
          this.#start(item, events)
          events.push({ type: 'reasoning-seal', opaque: item.opaque })
        }
        break
      }
      case 'part-start':
      case 'annotation':
      case 'part-end':
        break
      default:
        assertNever(event)
    }
  }

  end(events: TurnEvent[]): void {
    const { usage } = this.#items.state
    if (usage) events.push({ type: 'usage', usage })
    events.push({ type: 'turn-end', reason: finishReasonOf(this.#items.ending(), this.#call >= 0) })
  }

  #startCall(item: OutputItem): TurnEvent {
    this.#call += 1
    const { namespace } = item.fields
    return {
      type: 'tool-call-start',
      call: this.#call,
      callId: this.#mint.callId(),
      name: nameOfCall(item),
      namespace: typeof namespace === 'string' && namespace !== '' ? namespace : undefined,
      tool: item.kind === 'custom_tool_call' ? 'custom' : 'function',
    }
  }

  #start(item: OutputItem, events: TurnEvent[]): void {
    if (this.#started === item) return
    this.#started = item
    if (item.kind === 'reasoning') events.push({ type: 'reasoning-start' })
    else events.push({ type: 'message-start', phase: readPhase(item.fields.phase) })
  }

  #convertDelta({ item, part, text, event }: DeltaEvent, events: TurnEvent[]): void {
    switch (part.kind) {
      case 'arguments':
      case 'input':
        if (isNamedCall(item)) events.push({ type: 'tool-call-delta', call: this.#call, text })
        // The text was produced, but the client never gets it.
        else this.#items.state.heldBytes += Buffer.byteLength(text)
        break
      case 'output_text': {
        this.#start(item, events)
        const logprobs = readLogprobs(event?.logprobs)
        events.push(logprobs.length === 0 ? { type: 'text-delta', text } : { type: 'text-delta', text, logprobs })
        break
      }
      case 'refusal':
        this.#start(item, events)
        events.push({ type: 'refusal-delta', text })
        break
      case 'reasoning_text':
        this.#start(item, events)
        events.push({ type: 'reasoning-delta', text })
        break
      case 'summary_text':
        this.#start(item, events)
        if (this.#summary !== part) events.push({ type: 'summary-start' })
        this.#summary = part
        events.push({ type: 'summary-delta', text })
        break
      default:
        assertNever(part.kind)
    }
  }
}

/** A call that ended without a name is left out: nothing can be done with it. */
const isNamedCall = (item: OutputItem): boolean => isCall(item.kind) && nameOfCall(item) !== ''

function finishReasonOf(ending: AnswerEnding | undefined, hasCalls: boolean): FinishReason {
  if (ending?.kind === 'incomplete') return ending.reason === 'content_filter' ? 'content-filter' : 'length'
  return hasCalls ? 'tool-calls' : 'stop'
}
