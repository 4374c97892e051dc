import { type Fields, isObject } from '../../lib/is-object.ts'
import { nothingHeard } from '../event-reader.ts'
import { createAlikeWords } from '../sse/alike-words.ts'
import { createItemHearer } from './hear-items.ts'
import { type AnswerEnding, isEnding, readEnding, readErrorEvent, readFrame } from './read-frame.ts'
import { readUsage } from './read-usage.ts'
import type { ItemStep, StepSource } from './spoken-item.ts'
import { WORDS_PLACE } from './words-place.ts'

/** An answer of a lane that speaks Responses, read. */
export interface StepReader extends StepSource {
  /** A whole response, as a JSON answer is one. */
  readResponse(response: Fields): readonly ItemStep[]
}

/** Of frames without words: what ends items says their whole text again, three times at most. */
const BESIDE_WORDS_BYTES_MAX = 32 * 1024 * 1024

const NO_STEPS: readonly ItemStep[] = []

export function createStepReader(origin: string): StepReader {
  const heard = nothingHeard()
  const hearer = createItemHearer(heard, origin)
  const alike = createAlikeWords(WORDS_PLACE)
  let besideWords = 0
  let ending: AnswerEnding | undefined
  /** What the last frame was, where it was nothing but words of what is being told. */
  let delta: Delta | undefined

  const end = (response: Fields, event: string | undefined): readonly ItemStep[] => {
    const found = readEnding(response, event)
    heard.usage = readUsage(response.usage) ?? heard.usage
    if (found === undefined) return NO_STEPS
    if (found.kind === 'failed') {
      heard.error = found.said
      return NO_STEPS
    }
    hearer.hearOutput(response.output, found.kind)
    if (hearer.tooMany()) {
      heard.garbled = true
      return NO_STEPS
    }
    ending = found
    heard.finished = true
    // Nothing comes after the last event: its counts are in it.
    heard.done = true
    return hearer.take()
  }

  return {
    heard,
    ending: () => ending,
    readResponse: (response) => end(response, undefined),
    read(frame) {
      delta = undefined
      alike.forget()
      if (heard.garbled) return NO_STEPS
      const read = readFrame(frame)
      if (read.kind === 'done') heard.done = true
      if (read.kind === 'garbled') heard.garbled = true
      // What follows an end or a failure is no part of the answer.
      if (read.kind !== 'event' || ending !== undefined || heard.error !== undefined) return NO_STEPS
      const { type, event } = read
      if (type === 'error') {
        heard.error = readErrorEvent(event)
        return NO_STEPS
      }
      if (isEnding(type)) return end(isObject(event.response) ? event.response : {}, type)
      const wordsBefore = heard.outputBytes
      hearer.hear(type, event)
      // Annotations and what nobody knows count for no tokens, and are kept all the same.
      if (heard.outputBytes === wordsBefore) besideWords += frame.length
      if (hearer.tooMany() || besideWords > BESIDE_WORDS_BYTES_MAX) heard.garbled = true
      const steps = hearer.take()
      delta = onlyDelta(steps)
      if (delta !== undefined) alike.learn(frame, delta.text)
      return steps
    },
    readAlike(frames) {
      const run = delta && alike.take(frames)
      if (run === undefined || delta === undefined) return undefined
      delta.part.text += run.text
      heard.outputBytes += run.textBytes
      return run
    },
  }
}

type Delta = Extract<ItemStep, { readonly type: 'delta' }>

/** Nothing was begun or ended by it, and nothing had waited for it. */
function onlyDelta(steps: readonly ItemStep[]): Delta | undefined {
  const [step] = steps
  return steps.length === 1 && step?.type === 'delta' && step.event?.delta === step.text ? step : undefined
}
