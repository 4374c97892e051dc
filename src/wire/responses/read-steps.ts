import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Heard, nothingHeard } from '../heard.ts'
import { createAlikeWords } from '../sse/alike-words.ts'
import { hearEvent, type NamedEvent } from './hear-event.ts'
import { createItemHearer, type ItemHearer } from './hear-items.ts'
import { type AnswerEnding, isEnding, readEnding } from './read-ending.ts'
import { readUsage } from './read-usage.ts'
import type { DeltaStep, ItemStep, StepSource } from './spoken-item.ts'
import { WORDS_PLACE } from './words-place.ts'

/** An answer of a lane that speaks Responses, read. */
export interface StepReader extends StepSource {
  /** A whole response, as a JSON answer is one. */
  readResponse(response: Fields): readonly ItemStep[]
}

/** Of frames without words: what ends items says their whole text again, three times at most. */
const BESIDE_WORDS_BYTES_MAX = 32 * 1024 * 1024

const NO_STEPS: readonly ItemStep[] = []

export function createStepReader(origin: string, { functionsAreCustom = false } = {}): StepReader {
  const heard = nothingHeard()
  const reading: Reading = {
    heard,
    hearer: createItemHearer(heard, { origin, functionsAreCustom }),
    besideWords: 0,
    hasBegun: false,
    ending: undefined,
  }
  const alike = createAlikeWords(WORDS_PLACE)
  /** What the last frame was, where it was nothing but words of what is being told. */
  let delta: DeltaStep | undefined

  return {
    heard,
    ending: () => reading.ending,
    readResponse: (response) => readEnd(reading, response, undefined),
    read(frame) {
      delta = undefined
      alike.forget()
      // What follows an end or a failure is no part of the answer.
      if (heard.invalid !== undefined || heard.error !== undefined || reading.ending !== undefined) return NO_STEPS
      const named = hearEvent(heard, frame)
      if (named === undefined) return NO_STEPS
      const { type, event } = named
      if (isEnding(type)) return readEnd(reading, isObject(event.response) ? event.response : {}, type)
      const steps = readItems(reading, named, frame.length)
      delta = onlyDelta(steps)
      if (delta !== undefined) alike.learn(frame, delta.text)
      return steps
    },
    readAlike(frames) {
      const run = delta && alike.take(frames)
      if (run === undefined || delta === undefined) return undefined
      delta.part.text += run.text
      heard.outputBytes += run.textBytes
      heard.wordFrames += run.pieces.length
      return run
    },
  }
}

interface Reading {
  readonly heard: Heard
  readonly hearer: ItemHearer
  /** Bytes of frames without words. */
  besideWords: number
  hasBegun: boolean
  ending: AnswerEnding | undefined
}

function readItems(reading: Reading, { type, event }: NamedEvent, frameBytes: number): readonly ItemStep[] {
  const { heard, hearer } = reading
  if (type === 'response.created') {
    if (reading.hasBegun) heard.invalid = 'a second response.created'
    reading.hasBegun = true
  }
  const wordsBefore = heard.outputBytes
  hearer.hear(type, event)
  // Annotations and what nobody knows count for no tokens, and are kept all the same.
  if (heard.outputBytes === wordsBefore) reading.besideWords += frameBytes
  else heard.wordFrames += 1
  if (hearer.tooMany() || reading.besideWords > BESIDE_WORDS_BYTES_MAX) heard.invalid = 'too many items'
  return hearer.take()
}

function readEnd(reading: Reading, response: Fields, event: string | undefined): readonly ItemStep[] {
  const { heard, hearer } = reading
  const ending = readEnding(response, event)
  heard.usage = readUsage(response.usage) ?? heard.usage
  if (ending === undefined) return NO_STEPS
  // Nothing comes after the last event: its counts are in it.
  heard.usageIsFinal = heard.usage !== undefined
  if (ending.kind === 'failed') {
    heard.error = ending.said
    return NO_STEPS
  }
  hearer.hearOutput(response.output, ending.kind)
  if (hearer.tooMany()) heard.invalid ??= 'too many items'
  heard.invalid ??= hearer.faultInCalls(ending.kind)
  if (heard.invalid !== undefined) {
    hearer.forget()
    return NO_STEPS
  }
  reading.ending = ending
  heard.finished = true
  heard.done = true
  return hearer.take()
}

/** Nothing was begun or ended by it, and nothing had waited for it. */
function onlyDelta(steps: readonly ItemStep[]): DeltaStep | undefined {
  const [step] = steps
  return steps.length === 1 && step?.type === 'delta' && step.event?.delta === step.text ? step : undefined
}
