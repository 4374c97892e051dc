import { type Fields, isObject } from '../../lib/types.ts'
import type { Usage } from '../../model/usage.ts'
import { isError, readError, type UpstreamError } from '../refusals/provider-error.ts'
import { agreeWithTotal, countOf, newStreamState, type StreamState, usageOfCounts } from '../shared/stream-state.ts'
import { nameOfFrame, parseFrameData } from '../sse/frame-data.ts'
import { createWordTemplates, findGaps, type TemplateSlot } from '../sse/frame-template.ts'
import {
  type AnswerEnding,
  type DeltaEvent,
  type ItemEvent,
  type ItemEventSource,
  isEnding,
  readEnding,
} from './item-events.ts'
import { createItemParser, type ItemParser } from './parse-items.ts'

/** An answer of a lane that speaks Responses, read. */
export interface ItemEventReader extends ItemEventSource {
  /** A whole response, as a JSON answer is one. */
  readResponse(response: Fields): readonly ItemEvent[]
}

/** Of frames without words: what ends items says their whole text again, three times at most. */
const BESIDE_WORDS_BYTES_MAX = 32 * 1024 * 1024

const NO_STEPS: readonly ItemEvent[] = []

export function createItemEventReader(origin: string, { functionsAreCustom = false } = {}): ItemEventReader {
  const state = newStreamState()
  const reading: Reading = {
    state,
    hearer: createItemParser(state, { origin, functionsAreCustom }),
    besideWords: 0,
    hasBegun: false,
    ending: undefined,
  }
  const alike = createWordTemplates(WORDS_PLACE)
  /** What the last frame was, where it was nothing but words of what is being told. */
  let delta: DeltaEvent | undefined

  return {
    state,
    ending: () => reading.ending,
    readResponse: (response) => readEnd(reading, response, undefined),
    read(frame) {
      delta = undefined
      alike.forget()
      // What follows an end or a failure is no part of the answer.
      if (state.invalid !== undefined || state.error !== undefined || reading.ending !== undefined) return NO_STEPS
      const named = hearEvent(state, frame)
      if (named === undefined) return NO_STEPS
      const { type, event } = named
      if (isEnding(type)) return readEnd(reading, isObject(event.response) ? event.response : {}, type)
      const steps = readItems(reading, named, frame.length)
      delta = onlyDelta(steps)
      if (delta !== undefined) alike.learn(frame, delta.text)
      return steps
    },
    readTemplated(frames) {
      const run = delta && alike.take(frames)
      if (run === undefined || delta === undefined) return undefined
      delta.part.text += run.text
      state.outputBytes += run.textBytes
      state.contentFrames += run.pieces.length
      return run
    },
  }
}

interface Reading {
  readonly state: StreamState
  readonly hearer: ItemParser
  /** Bytes of frames without words. */
  besideWords: number
  hasBegun: boolean
  ending: AnswerEnding | undefined
}

function readItems(reading: Reading, { type, event }: NamedEvent, frameBytes: number): readonly ItemEvent[] {
  const { state, hearer } = reading
  if (type === 'response.created') {
    if (reading.hasBegun) state.invalid = 'a second response.created'
    reading.hasBegun = true
  }
  const wordsBefore = state.outputBytes
  hearer.hear(type, event)
  // Annotations and what nobody knows count for no tokens, and are kept all the same.
  if (state.outputBytes === wordsBefore) reading.besideWords += frameBytes
  else state.contentFrames += 1
  if (hearer.tooMany() || reading.besideWords > BESIDE_WORDS_BYTES_MAX) state.invalid = 'too many items'
  return hearer.take()
}

function readEnd(reading: Reading, response: Fields, event: string | undefined): readonly ItemEvent[] {
  const { state, hearer } = reading
  const ending = readEnding(response, event)
  state.usage = readUsage(response.usage) ?? state.usage
  if (ending === undefined) return NO_STEPS
  // Nothing comes after the last event: its counts are in it.
  state.usageIsFinal = state.usage !== undefined
  if (ending.kind === 'failed') {
    state.error = ending.said
    return NO_STEPS
  }
  hearer.hearOutput(response.output, ending.kind)
  if (hearer.tooMany()) state.invalid ??= 'too many items'
  state.invalid ??= hearer.faultInCalls(ending.kind)
  if (state.invalid !== undefined) {
    hearer.forget()
    return NO_STEPS
  }
  reading.ending = ending
  state.finished = true
  state.done = true
  return hearer.take()
}

/** Nothing was begun or ended by it, and nothing had waited for it. */
function onlyDelta(steps: readonly ItemEvent[]): DeltaEvent | undefined {
  const [step] = steps
  return steps.length === 1 && step?.type === 'delta' && step.event?.delta === step.text ? step : undefined
}

/** What a frame says, and under which name. */
interface NamedEvent {
  readonly type: string
  readonly event: Fields
}

/** The event in a frame; undefined, with what it means noted, where there is none. */
function hearEvent(state: Pick<StreamState, 'done' | 'invalid' | 'error'>, frame: Buffer): NamedEvent | undefined {
  const event = parseFrameData(state, frame)
  if (event === undefined) return undefined
  const type = typeof event.type === 'string' && event.type !== '' ? event.type : nameOfFrame(frame)
  if (type !== 'error' && !isBareError(event)) return { type, event }
  state.error = readErrorEvent(event)
  return undefined
}

/** Some servers break off with the body that they would refuse with: `{"error": …}` and no word of an event. */
const isBareError = (event: Fields): boolean =>
  isError(event.error) && !(typeof event.type === 'string' && event.type.startsWith('response.'))

/** An `error` event: flat, or nested, or both at once; the code may be null. */
function readErrorEvent(event: Fields): UpstreamError {
  if (isObject(event.error) || typeof event.error === 'string') return readError(event.error)
  const { message, code } = event
  // The type of a flat one is "error" and says nothing.
  return readError({ message, code })
}

/** All that a delta says beyond its words stands the same in the next one: its item, its part, fields that nobody knows. */
const WORDS_PLACE: TemplateSlot = {
  gaps: findGaps(['delta']),
  wordsOf: ({ delta }) => (typeof delta === 'string' ? delta : undefined),
}

/**
 * Usage as Responses reports it: the input includes what was cached, the output includes the reasoning. Undefined when it
 * is absent or not numbers; details that are absent are zero.
 */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const input = countOf(usage.input_tokens)
  const output = countOf(usage.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const details = detailsOf(usage.input_tokens_details)
  const counts = {
    input,
    cached: countOf(details.cached_tokens) ?? 0,
    cacheWrite: countOf(details.cache_write_tokens) ?? 0,
    output,
    reasoning: countOf(detailsOf(usage.output_tokens_details).reasoning_tokens) ?? 0,
  }
  return usageOfCounts(agreeWithTotal(counts, { total: countOf(usage.total_tokens), beside: [] }))
}

const detailsOf = (details: unknown): Fields => (isObject(details) ? details : {})
