import { assertNever } from '../../lib/types.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { EventReader, MintIds, ReaderOptions } from '../shared/event-reader.ts'
import { readLogprobs } from '../shared/logprobs.ts'
import type { StreamState } from '../shared/stream-state.ts'
import type { ResponsesDialect } from './dialects.ts'
import {
  type DeltaEvent,
  type ItemEvent,
  isCall,
  nameOfCall,
  type OutputItem,
  type OutputPart,
  type ResponseEnding,
} from './item-events.ts'
import { readPhase } from './parse-conversation.ts'
import { createItemEventReader, type ItemEventReader } from './read-stream.ts'

/** A stream of a lane that speaks Responses, for a client that does not, or whose tools the lane does not know. */
export function createEventReader({ mint, origin }: ReaderOptions<ResponsesDialect>): EventReader {
  const steps = createItemEventReader(origin, { functionsAreCustom: true })
  const reading: EventState = { mint, state: steps.state, call: -1, begun: undefined, summary: undefined }
  let isOneEvent = false
  return {
    state: steps.state,
    read(frame) {
      const wasOver = steps.state.finished
      const events = steps.read(frame).flatMap((step) => eventsOf(reading, step))
      isOneEvent = events.length === 1 && !hasLogprobs(events[0]!)
      return steps.state.finished && !wasOver ? [...events, ...lastEvents(reading, steps)] : events
    },
    readTemplated: (frames) => (isOneEvent ? steps.readTemplated(frames) : undefined),
  }
}

interface EventState {
  readonly mint: MintIds
  readonly state: StreamState
  /** The number of the call that is being told: calls are told one after the other. */
  call: number
  /** A message or a reasoning begins with its first words: an empty one is nothing. */
  begun: OutputItem | undefined
  /** The part of a summary that is being told. */
  summary: OutputPart | undefined
}

const NO_EVENTS: readonly TurnEvent[] = []

const hasLogprobs = (event: TurnEvent): boolean => event.type === 'text-delta' && event.logprobs !== undefined

function eventsOf(reading: EventState, step: ItemEvent): readonly TurnEvent[] {
  switch (step.type) {
    case 'item-start':
      return isToldCall(step.item) ? [startOfCall(reading, step.item)] : NO_EVENTS
    case 'part-start':
    case 'annotation':
    case 'part-end':
      return NO_EVENTS
    case 'delta':
      return wordsOf(reading, step)
    case 'item-end':
      if (isToldCall(step.item)) return [{ type: 'tool-call-end', call: reading.call }]
      return sealOf(reading, step.item)
    default:
      return assertNever(step)
  }
}

/** Nobody can make anything of a call that has come to its end without a name. */
const isToldCall = (item: OutputItem): boolean => isCall(item.kind) && nameOfCall(item) !== ''

function startOfCall(reading: EventState, item: OutputItem): TurnEvent {
  reading.call++
  const { namespace } = item.fields
  return {
    type: 'tool-call-start',
    call: reading.call,
    callId: reading.mint.callId(),
    name: nameOfCall(item),
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : undefined,
    tool: item.kind === 'custom_tool_call' ? 'custom' : 'function',
  }
}

function begin(reading: EventState, item: OutputItem): TurnEvent[] {
  if (reading.begun === item) return []
  reading.begun = item
  if (item.kind === 'reasoning') return [{ type: 'reasoning-start' }]
  return [{ type: 'message-start', phase: readPhase(item.fields.phase) }]
}

function wordsOf(reading: EventState, { item, part, text, event }: DeltaEvent): readonly TurnEvent[] {
  switch (part.kind) {
    case 'arguments':
    case 'input':
      if (isToldCall(item)) return [{ type: 'tool-call-delta', call: reading.call, text }]
      // For good: its words are produced, and nobody gets them.
      reading.state.heldBytes += Buffer.byteLength(text)
      return NO_EVENTS
    case 'output_text': {
      const logprobs = readLogprobs(event?.logprobs)
      const said = { type: 'text-delta', text } as const
      return [...begin(reading, item), logprobs.length === 0 ? said : { ...said, logprobs }]
    }
    case 'refusal':
      return [...begin(reading, item), { type: 'refusal-delta', text }]
    case 'reasoning_text':
      return [...begin(reading, item), { type: 'reasoning-delta', text }]
    case 'summary_text':
      return [...begin(reading, item), ...beginSummary(reading, part), { type: 'summary-delta', text }]
    default:
      return assertNever(part.kind)
  }
}

function beginSummary(reading: EventState, part: OutputPart): TurnEvent[] {
  if (reading.summary === part) return []
  reading.summary = part
  return [{ type: 'summary-start' }]
}

/** Sealed reasoning is taken as it stands at the end of its item: what comes at its beginning is shorter. */
function sealOf(reading: EventState, item: OutputItem): readonly TurnEvent[] {
  const { opaque } = item
  if (item.kind !== 'reasoning' || opaque === undefined) return NO_EVENTS
  return [...begin(reading, item), { type: 'reasoning-seal', opaque }]
}

function lastEvents(reading: EventState, steps: ItemEventReader): readonly TurnEvent[] {
  const { usage } = steps.state
  const end: TurnEvent = { type: 'turn-end', reason: finishReasonOf(steps.ending(), reading.call >= 0) }
  return usage ? [{ type: 'usage', usage }, end] : [end]
}

function finishReasonOf(ending: ResponseEnding | undefined, hasCalls: boolean): FinishReason {
  if (ending?.kind === 'incomplete') return ending.reason === 'content_filter' ? 'content-filter' : 'length'
  return hasCalls ? 'tool-calls' : 'stop'
}
