import { assertNever } from '../../lib/assert-never.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { EventReader, ReaderOptions } from '../event-reader.ts'
import type { Heard } from '../heard.ts'
import type { MintIds } from '../mint-ids.ts'
import { readLogprobs } from '../read-logprobs.ts'
import type { ResponsesDialect } from './dialects.ts'
import type { ResponseEnding } from './read-ending.ts'
import { readPhase } from './read-phase.ts'
import { createStepReader, type StepReader } from './read-steps.ts'
import { type DeltaStep, type ItemStep, isCall, nameOfCall, type SpokenItem, type SpokenPart } from './spoken-item.ts'

/** A stream of a lane that speaks Responses, for a client that does not, or whose tools the lane does not know. */
export function createEventReader({ mint, origin }: ReaderOptions<ResponsesDialect>): EventReader {
  const steps = createStepReader(origin, { functionsAreCustom: true })
  const state: EventState = { mint, heard: steps.heard, call: -1, begun: undefined, summary: undefined }
  let isOneEvent = false
  return {
    heard: steps.heard,
    read(frame) {
      const wasOver = steps.heard.finished
      const events = steps.read(frame).flatMap((step) => eventsOf(state, step))
      isOneEvent = events.length === 1 && !hasLogprobs(events[0]!)
      return steps.heard.finished && !wasOver ? [...events, ...lastEvents(state, steps)] : events
    },
    readAlike: (frames) => (isOneEvent ? steps.readAlike(frames) : undefined),
  }
}

interface EventState {
  readonly mint: MintIds
  readonly heard: Heard
  /** The number of the call that is being told: calls are told one after the other. */
  call: number
  /** A message or a reasoning begins with its first words: an empty one is nothing. */
  begun: SpokenItem | undefined
  /** The part of a summary that is being told. */
  summary: SpokenPart | undefined
}

const NO_EVENTS: readonly TurnEvent[] = []

const hasLogprobs = (event: TurnEvent): boolean => event.type === 'text-delta' && event.logprobs !== undefined

function eventsOf(state: EventState, step: ItemStep): readonly TurnEvent[] {
  switch (step.type) {
    case 'item-start':
      return isToldCall(step.item) ? [startOfCall(state, step.item)] : NO_EVENTS
    case 'part-start':
    case 'annotation':
    case 'part-end':
      return NO_EVENTS
    case 'delta':
      return wordsOf(state, step)
    case 'item-end':
      if (isToldCall(step.item)) return [{ type: 'tool-call-end', call: state.call }]
      return sealOf(state, step.item)
    default:
      return assertNever(step)
  }
}

/** Nobody can make anything of a call that has come to its end without a name. */
const isToldCall = (item: SpokenItem): boolean => isCall(item.kind) && nameOfCall(item) !== ''

function startOfCall(state: EventState, item: SpokenItem): TurnEvent {
  state.call++
  const { namespace } = item.fields
  return {
    type: 'tool-call-start',
    call: state.call,
    callId: state.mint.callId(),
    name: nameOfCall(item),
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : undefined,
    tool: item.kind === 'custom_tool_call' ? 'custom' : 'function',
  }
}

function begin(state: EventState, item: SpokenItem): TurnEvent[] {
  if (state.begun === item) return []
  state.begun = item
  if (item.kind === 'reasoning') return [{ type: 'reasoning-start' }]
  return [{ type: 'message-start', phase: readPhase(item.fields.phase) }]
}

function wordsOf(state: EventState, { item, part, text, event }: DeltaStep): readonly TurnEvent[] {
  switch (part.kind) {
    case 'arguments':
    case 'input':
      if (isToldCall(item)) return [{ type: 'tool-call-delta', call: state.call, text }]
      // For good: its words are produced, and nobody gets them.
      state.heard.heldBytes += Buffer.byteLength(text)
      return NO_EVENTS
    case 'output_text': {
      const logprobs = readLogprobs(event?.logprobs)
      const said = { type: 'text-delta', text } as const
      return [...begin(state, item), logprobs.length === 0 ? said : { ...said, logprobs }]
    }
    case 'refusal':
      return [...begin(state, item), { type: 'refusal-delta', text }]
    case 'reasoning_text':
      return [...begin(state, item), { type: 'reasoning-delta', text }]
    case 'summary_text':
      return [...begin(state, item), ...beginSummary(state, part), { type: 'summary-delta', text }]
    default:
      return assertNever(part.kind)
  }
}

function beginSummary(state: EventState, part: SpokenPart): TurnEvent[] {
  if (state.summary === part) return []
  state.summary = part
  return [{ type: 'summary-start' }]
}

/** Sealed reasoning is taken as it stands at the end of its item: what comes at its beginning is shorter. */
function sealOf(state: EventState, item: SpokenItem): readonly TurnEvent[] {
  const { opaque } = item
  if (item.kind !== 'reasoning' || opaque === undefined) return NO_EVENTS
  return [...begin(state, item), { type: 'reasoning-seal', opaque }]
}

function lastEvents(state: EventState, steps: StepReader): readonly TurnEvent[] {
  const { usage } = steps.heard
  const end: TurnEvent = { type: 'turn-end', reason: finishReasonOf(steps.ending(), state.call >= 0) }
  return usage ? [{ type: 'usage', usage }, end] : [end]
}

function finishReasonOf(ending: ResponseEnding | undefined, hasCalls: boolean): FinishReason {
  if (ending?.kind === 'incomplete') return ending.reason === 'content_filter' ? 'content-filter' : 'length'
  return hasCalls ? 'tool-calls' : 'stop'
}
