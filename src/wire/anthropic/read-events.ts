import { type Fields, isObject } from '../../lib/is-object.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { Usage } from '../../model/usage.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../event-reader.ts'
import { type Heard, hearUsage, nothingHeard } from '../heard.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { createAlikeWords } from '../sse/alike-words.ts'
import { hearData, markedData, nameOfFrame } from '../sse/frame-data.ts'
import { NO_CALLS, WORDS_BEHIND_END } from '../tools/call-faults.ts'
import type { AnthropicDialect } from './dialects.ts'
import { finishReasonOf } from './finish-reason.ts'
import { type BlockReader, createBlockReader } from './read-blocks.ts'
import { mergeUsage, promptCounts, readInput, readUsage } from './read-usage.ts'
import { WORDS_PLACE } from './words-place.ts'

/** Reads the stream of an Anthropic lane as events. */
export function createEventReader(options: ReaderOptions<AnthropicDialect>): EventReader {
  const heard = nothingHeard()
  const blocks = createBlockReader(options)
  const reading: Reading = { heard, blocks, counts: {}, usage: undefined, hasBegun: false }
  const alike = createAlikeWords(WORDS_PLACE)
  /** The last frame was nothing but words. */
  let canGoOn = false
  return {
    heard,
    read(bytes) {
      canGoOn = false
      alike.forget()
      if (heard.done || heard.invalid !== undefined || heard.error) return []
      const frame = hearFrame(heard, bytes)
      if (frame === undefined) return []
      const events = readFrame(reading, frame)
      if (blocks.bytes() > heard.outputBytes) heard.wordFrames += 1
      heard.outputBytes = blocks.bytes()
      heard.calls = blocks.calls()
      hearUsage(heard, reading.usage)
      heard.invalid ??= blocks.fault() ?? (blocks.calls() > CALLS_MAX ? 'too many calls' : undefined)
      const words = WORDS_PLACE.wordsOf(frame)
      canGoOn = words !== undefined && isOnlyWords(events, words)
      if (canGoOn && words !== undefined) alike.learn(bytes, words)
      return events
    },
    readAlike(frames) {
      const run = canGoOn ? alike.take(frames) : undefined
      if (run === undefined) return undefined
      blocks.goOn(run)
      heard.outputBytes = blocks.bytes()
      heard.wordFrames += run.pieces.length
      return run
    },
  }
}

interface Reading {
  readonly heard: Heard
  readonly blocks: BlockReader
  counts: Fields
  usage: Usage | undefined
  hasBegun: boolean
}

function readFrame(reading: Reading, frame: Fields): readonly TurnEvent[] {
  const { heard, blocks } = reading
  switch (frame.type) {
    case 'message_start':
      if (reading.hasBegun) heard.invalid = 'a second message_start'
      reading.hasBegun = true
      if (isObject(frame.message)) reading.counts = mergeUsage(reading.counts, promptCounts(frame.message.usage))
      heard.inputCounted = readInput(reading.counts)
      return []
    case 'content_block_start':
    case 'content_block_delta':
    case 'content_block_stop':
      if (!heard.finished) return blocks.read(frame)
      if (frame.type !== 'content_block_stop') heard.invalid = WORDS_BEHIND_END
      return []
    case 'message_delta': {
      reading.counts = mergeUsage(reading.counts, frame.usage)
      reading.usage = readUsage(reading.counts) ?? reading.usage
      const reason = isObject(frame.delta) ? frame.delta.stop_reason : undefined
      return reason === undefined || reason === null ? [] : finish(reading, reason)
    }
    case 'message_stop':
      heard.done = true
      if (!heard.finished) heard.invalid = 'message_stop without a stop_reason'
      return []
    default:
      return []
  }
}

function finish({ heard, blocks }: Reading, stopReason: unknown): readonly TurnEvent[] {
  if (heard.finished) return []
  if (stopReason === 'tool_use' && blocks.calls() === 0) {
    heard.invalid = NO_CALLS
    return []
  }
  heard.finished = true
  const reason = finishReasonOf(stopReason, blocks.calls() > 0)
  return [...blocks.endAll(reason), { type: 'turn-end', reason }]
}

function hearFrame(heard: Heard, bytes: Buffer): Fields | undefined {
  const data = hearData(heard, bytes)
  if (data === undefined) return undefined
  const isNamed = data.type !== undefined
  if (data.type !== 'error' && (isNamed || !isError(data.error))) {
    const frame = isNamed ? data : { ...data, type: nameOfFrame(bytes) }
    return frame.type === 'content_block_start' ? withExactInput(frame, bytes) : frame
  }
  heard.error = readError(data.error)
  return undefined
}

/** The numbers of a call's input keep their digits. */
function withExactInput(frame: Fields, bytes: Buffer): Fields {
  const { content_block: block } = frame
  const exact = isObject(block) && isObject(block.input) ? markedData(bytes)?.content_block : undefined
  return isObject(block) && isObject(exact) ? { ...frame, content_block: { ...block, input: exact.input } } : frame
}

function isOnlyWords(events: readonly TurnEvent[], words: string): boolean {
  const [event] = events
  return events.length === 1 && event !== undefined && 'text' in event && event.text === words
}
