import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { Usage } from '../../model/usage.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/event-reader.ts'
import { newStreamState, recordUsage, type StreamState } from '../shared/stream-state.ts'
import { markedData, nameOfFrame, parseFrameData } from '../sse/frame-data.ts'
import { NO_CALLS, WORDS_BEHIND_END } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'
import { type BlockReader, createBlockReader } from './read-blocks.ts'
import { mergeUsage, promptCounts, readInput, readUsage } from './read-usage.ts'

/** Reads the stream of an Anthropic lane as events. */
export function createEventReader(options: ReaderOptions<AnthropicDialect>): EventReader {
  const state = newStreamState()
  const blocks = createBlockReader(options)
  const reading: Reading = { state, blocks, counts: {}, usage: undefined, hasBegun: false }
  return {
    state,
    read(bytes) {
      if (state.done || state.invalid !== undefined || state.error) return []
      const frame = hearFrame(state, bytes)
      if (frame === undefined) return []
      const events = readFrame(reading, frame)
      if (blocks.bytes() > state.outputBytes) state.contentFrames += 1
      state.outputBytes = blocks.bytes()
      state.calls = blocks.calls()
      recordUsage(state, reading.usage)
      state.invalid ??= blocks.fault() ?? (blocks.calls() > CALLS_MAX ? 'too many calls' : undefined)
      return events
    },
  }
}

interface Reading {
  readonly state: StreamState
  readonly blocks: BlockReader
  counts: Fields
  usage: Usage | undefined
  hasBegun: boolean
}

function readFrame(reading: Reading, frame: Fields): readonly TurnEvent[] {
  const { state, blocks } = reading
  switch (frame.type) {
    case 'message_start':
      if (reading.hasBegun) state.invalid = 'a second message_start'
      reading.hasBegun = true
      if (isObject(frame.message)) reading.counts = mergeUsage(reading.counts, promptCounts(frame.message.usage))
      state.inputCounted = readInput(reading.counts)
      return []
    case 'content_block_start':
    case 'content_block_delta':
    case 'content_block_stop':
      if (!state.finished) return blocks.read(frame)
      if (frame.type !== 'content_block_stop') state.invalid = WORDS_BEHIND_END
      return []
    case 'message_delta': {
      reading.counts = mergeUsage(reading.counts, frame.usage)
      reading.usage = readUsage(reading.counts) ?? reading.usage
      const reason = isObject(frame.delta) ? frame.delta.stop_reason : undefined
      return reason === undefined || reason === null ? [] : finish(reading, reason)
    }
    case 'message_stop':
      state.done = true
      if (!state.finished) state.invalid = 'message_stop without a stop_reason'
      return []
    default:
      return []
  }
}

function finish({ state, blocks }: Reading, stopReason: unknown): readonly TurnEvent[] {
  if (state.finished) return []
  if (stopReason === 'tool_use' && blocks.calls() === 0) {
    state.invalid = NO_CALLS
    return []
  }
  state.finished = true
  const reason = finishReasonOf(stopReason, blocks.calls() > 0)
  return [...blocks.endAll(reason), { type: 'turn-end', reason }]
}

function hearFrame(state: StreamState, bytes: Buffer): Fields | undefined {
  const data = parseFrameData(state, bytes)
  if (data === undefined) return undefined
  const isNamed = data.type !== undefined
  if (data.type !== 'error' && (isNamed || !isError(data.error))) {
    const frame = isNamed ? data : { ...data, type: nameOfFrame(bytes) }
    return frame.type === 'content_block_start' ? withExactInput(frame, bytes) : frame
  }
  state.error = readError(data.error)
  return undefined
}

/** The numbers of a call's input keep their digits. */
function withExactInput(frame: Fields, bytes: Buffer): Fields {
  const { content_block: block } = frame
  const exact = isObject(block) && isObject(block.input) ? markedData(bytes)?.content_block : undefined
  return isObject(block) && isObject(exact) ? { ...frame, content_block: { ...block, input: exact.input } } : frame
}

/** Why an answer ends, by the server's word for it. */
const STOP_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
])

function finishReasonOf(stopReason: unknown, hasCalls: boolean): FinishReason {
  const reason = STOP_REASONS.get(stopReason) ?? 'stop'
  return reason === 'stop' && hasCalls ? 'tool-calls' : reason
}
