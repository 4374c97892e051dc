import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Heard, nothingHeard } from '../event-reader.ts'
import { createItemHearer } from './hear-items.ts'
import { type Ending, isEnding, readEnding, readErrorEvent } from './read-ending.ts'
import { readFrame } from './read-frame.ts'
import { readUsage } from './read-usage.ts'
import type { ItemStep } from './spoken-item.ts'

/** A lane's answer, read: frames, or a whole response, become steps. */
export interface StepReader {
  read(frame: Buffer): readonly ItemStep[]
  /** A whole response, as a JSON answer is one. */
  readResponse(response: Fields): readonly ItemStep[]
  readonly heard: Heard
  /** Undefined until the lane has said that the answer is complete, or why it is not. */
  ending(): Exclude<Ending, { kind: 'failed' }> | undefined
}

const NO_STEPS: readonly ItemStep[] = []

export function createStepReader(): StepReader {
  const heard = nothingHeard()
  const hearer = createItemHearer(heard)
  let ending: Exclude<Ending, { kind: 'failed' }> | undefined

  const end = (response: Fields, event: string | undefined): readonly ItemStep[] => {
    const found = readEnding(response, event)
    heard.usage = readUsage(response.usage) ?? heard.usage
    if (found === undefined) return NO_STEPS
    if (found.kind === 'failed') {
      heard.error = found.said
      return NO_STEPS
    }
    ending = found
    hearer.hearOutput(response.output, found.kind)
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
      hearer.hear(type, event)
      if (hearer.tooMany()) heard.garbled = true
      return hearer.take()
    },
  }
}
