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
  return {
    state: items.state,
    read(frame) {
      const wasOver = items.state.finished
      const events = items.read(frame).flatMap((event) => converter.convert(event))
      return items.state.finished && !wasOver ? [...events, ...converter.endEvents()] : events
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

  convert(event: ItemEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'item-start':
        return isNamedCall(event.item) ? [this.#startCall(event.item)] : NO_EVENTS
      case 'delta':
        return this.#convertDelta(event)
      case 'item-end': {
        const { item } = event
        if (isNamedCall(item)) return [{ type: 'tool-call-end', call: this.#call }]
        // The seal at the end of an item is the right one: the one at its start is shorter.
        if (item.kind !== 'reasoning' || item.opaque === undefined) return NO_EVENTS
        return [...this.#start(item), { type: 'reasoning-seal', opaque: item.opaque }]
      }
      case 'part-start':
      case 'annotation':
      case 'part-end':
        return NO_EVENTS
      default:
        return assertNever(event)
    }
  }

  endEvents(): readonly TurnEvent[] {
    const { usage } = this.#items.state
    const end: TurnEvent = { type: 'turn-end', reason: finishReasonOf(this.#items.ending(), this.#call >= 0) }
    return usage ? [{ type: 'usage', usage }, end] : [end]
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

  #start(item: OutputItem): TurnEvent[] {
    if (this.#started === item) return []
    this.#started = item
    if (item.kind === 'reasoning') return [{ type: 'reasoning-start' }]
    return [{ type: 'message-start', phase: readPhase(item.fields.phase) }]
  }

  #startSummary(part: OutputPart): TurnEvent[] {
    if (this.#summary === part) return []
    this.#summary = part
    return [{ type: 'summary-start' }]
  }

  #convertDelta({ item, part, text, event }: DeltaEvent): readonly TurnEvent[] {
    switch (part.kind) {
      case 'arguments':
      case 'input':
        if (isNamedCall(item)) return [{ type: 'tool-call-delta', call: this.#call, text }]
        // The text was produced, but the client never gets it.
        this.#items.state.heldBytes += Buffer.byteLength(text)
        return NO_EVENTS
      case 'output_text': {
        const logprobs = readLogprobs(event?.logprobs)
        return [
          ...this.#start(item),
          logprobs.length === 0 ? { type: 'text-delta', text } : { type: 'text-delta', text, logprobs },
        ]
      }
      case 'refusal':
        return [...this.#start(item), { type: 'refusal-delta', text }]
      case 'reasoning_text':
        return [...this.#start(item), { type: 'reasoning-delta', text }]
      case 'summary_text':
        return [...this.#start(item), ...this.#startSummary(part), { type: 'summary-delta', text }]
      default:
        return assertNever(part.kind)
    }
  }
}

/** A call that ended without a name is left out: nothing can be done with it. */
const isNamedCall = (item: OutputItem): boolean => isCall(item.kind) && nameOfCall(item) !== ''

function finishReasonOf(ending: AnswerEnding | undefined, hasCalls: boolean): FinishReason {
  if (ending?.kind === 'incomplete') return ending.reason === 'content_filter' ? 'content-filter' : 'length'
  return hasCalls ? 'tool-calls' : 'stop'
}
