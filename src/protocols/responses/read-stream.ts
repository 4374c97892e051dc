import { type Fields, isObject } from '../../lib/types.ts'
import type { Usage } from '../../model/price.ts'
import { isError, readError, type UpstreamError } from '../refusals/provider-error.ts'
import { agreeWithTotal, countOf, newStreamState, usageOfCounts } from '../shared/stream-state.ts'
import { nameOfFrame, parseFrameData } from '../sse/frames.ts'
import type { AnswerEnding, DeltaEvent, ItemEvent, ItemEventSource } from './item-events.ts'
import { ItemParser } from './parse-items.ts'

/** Reads the answer of a lane that speaks Responses. */
export interface ItemEventReader extends ItemEventSource {
  repeatDelta(last: DeltaEvent, text: string): DeltaEvent
  /** Reads a whole response, such as a JSON answer. */
  readResponse(response: Fields): readonly ItemEvent[]
}

/** Of frames without text. The events that end items repeat their whole text, at most three times. */
const OTHER_FRAMES_BYTES_MAX = 32 * 1024 * 1024

const NO_EVENTS: readonly ItemEvent[] = []

export function createItemEventReader(origin: string, { functionsAreCustom = false } = {}): ItemEventReader {
  const state = newStreamState()
  const parser = new ItemParser(state, { origin, functionsAreCustom })
  const { queue } = parser
  let otherFramesBytes = 0
  let hasBegun = false
  let ending: AnswerEnding | undefined

  const readItems = (type: string, event: Fields, frameBytes: number): readonly ItemEvent[] => {
    if (type === 'response.created') {
      if (hasBegun) state.invalid = 'a second response.created'
      hasBegun = true
    }
    const bytesBefore = state.outputBytes
    parser.parse(type, event)
    // Annotations and unknown events count for no tokens, but they are kept in memory.
    if (state.outputBytes === bytesBefore) otherFramesBytes += frameBytes
    else state.contentFrames += 1
    if (queue.isOverLimit || otherFramesBytes > OTHER_FRAMES_BYTES_MAX) state.invalid = 'too many items'
    return queue.take()
  }

  const readEnd = (response: Fields, type: string | undefined): readonly ItemEvent[] => {
    const found = readEnding(response, type)
    state.usage = readUsage(response.usage) ?? state.usage
    state.serviceTier = response.service_tier
    if (found === undefined) return NO_EVENTS
    // Nothing comes after the last event, so its counts are final.
    state.usageIsFinal = state.usage !== undefined
    if (found.kind === 'failed') {
      state.error = found.error
      return NO_EVENTS
    }
    parser.parseOutput(response.output, found.kind)
    if (queue.isOverLimit) state.invalid ??= 'too many items'
    state.invalid ??= parser.faultInCalls(found.kind)
    if (state.invalid !== undefined) {
      queue.discard()
      return NO_EVENTS
    }
    ending = found
    state.finished = true
    state.finishReason = found.kind
    state.done = true
    return queue.take()
  }

  return {
    state,
    ending: () => ending,
    repeatDelta(last, text) {
      state.outputBytes += Buffer.byteLength(text)
      state.contentFrames += 1
      last.part.text += text
      return { ...last, text }
    },
    readResponse: (response) => readEnd(response, undefined),
    read(frame) {
      // Frames behind an end or a failure are not part of the answer.
      if (state.invalid !== undefined || state.error !== undefined || ending !== undefined) return NO_EVENTS
      const event = parseFrameData(state, frame)
      if (event === undefined) return NO_EVENTS
      const type = typeof event.type === 'string' && event.type !== '' ? event.type : nameOfFrame(frame)
      if (type === 'error' || isBareError(event)) {
        // An `error` event is flat, or nested, or both. The type of a flat one is only "error", and the code may be null.
        const { error, message, code } = event
        state.error = readError(isObject(error) || typeof error === 'string' ? error : { message, code })
        return NO_EVENTS
      }
      if (ENDINGS.has(type)) return readEnd(isObject(event.response) ? event.response : {}, type)
      return readItems(type, event, frame.length)
    },
  }
}

/** Some servers end a stream with the body of a refusal: `{"error": …}` without an event type. */
const isBareError = (event: Fields): boolean =>
  isError(event.error) && !(typeof event.type === 'string' && event.type.startsWith('response.'))

type Ending = AnswerEnding | { readonly kind: 'failed'; readonly error: UpstreamError }

/** Reads how a response ended, from the last event of a stream, or from a whole response, which has only its status. */
function readEnding(response: Fields, event: string | undefined): Ending | undefined {
  const named = event === undefined ? undefined : ENDINGS.get(event)
  const own = typeof response.status === 'string' && FINAL_STATUSES.has(response.status) ? response.status : undefined
  // Some servers end every stream with `response.completed`; the status in it is right.
  const status = named === undefined || named === 'completed' ? (own ?? named) : named
  switch (status) {
    case 'completed':
      return { kind: 'completed' }
    case 'incomplete': {
      const { incomplete_details: details } = response
      const isFiltered = isObject(details) && details.reason === 'content_filter'
      return { kind: 'incomplete', reason: isFiltered ? 'content_filter' : 'max_output_tokens' }
    }
    case 'failed':
    case 'cancelled': {
      const { error } = response
      if (isObject(error) || typeof error === 'string') return { kind: 'failed', error: readError(error) }
      const message = `The provider's response has the status "${status}".`
      return { kind: 'failed', error: { message, code: undefined } }
    }
    default:
      return undefined
  }
}

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.done', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
])

const FINAL_STATUSES = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

/**
 * Usage as Responses reports it: the input includes cached tokens, the output includes reasoning. Undefined when it is absent
 * or not numbers; absent details are zero.
 */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  // Some servers count under the names of Chat.
  const input = countOf(usage.input_tokens ?? usage.prompt_tokens)
  const output = countOf(usage.output_tokens ?? usage.completion_tokens)
  if (input === undefined || output === undefined) return undefined
  const ofInput = usage.input_tokens_details ?? usage.prompt_tokens_details
  const ofOutput = usage.output_tokens_details ?? usage.completion_tokens_details
  const inputDetails = isObject(ofInput) ? ofInput : {}
  const outputDetails = isObject(ofOutput) ? ofOutput : {}
  const counts = {
    input,
    cached: countOf(inputDetails.cached_tokens) ?? 0,
    cacheWrite: countOf(inputDetails.cache_write_tokens) ?? 0,
    output,
    reasoning: countOf(outputDetails.reasoning_tokens) ?? 0,
  }
  return usageOfCounts(agreeWithTotal(counts, { total: countOf(usage.total_tokens), beside: [] }))
}
