import { DONE_FRAME } from '../sse/frame-data.ts'
import { NOTHING_CARRIED } from '../voice.ts'
import { createSaidItems } from './said-items.ts'
import { type DeltaStep, type ItemStep, isCall, nameOfCall, type StepSource } from './spoken-item.ts'
import { aroundWords, emptyDelta, frameText, type UnsentEvent } from './step-frames.ts'
import { stateAtEnd, type Telling, type ToldAnswer } from './told-answer.ts'
import type { AroundWords } from './write-item.ts'

/**
 * Says an answer as a stream, whatever its lane speaks: ids, numbers and the response around the items are ours, fields
 * that nobody knows stay. Nothing is said before the first content, and the last event is said by `end`.
 */
export function tellStream(source: StepSource, telling: Telling): ToldAnswer {
  const { framing } = telling
  const said = createSaidItems(telling)
  /** What came before the first content. It has no numbers yet: something else may be said first. */
  let unsent: UnsentEvent[] = []
  let hasSpoken = false
  /** All that the last frame said, and what is around its words when it is said again. */
  let lastDelta: DeltaStep | undefined
  let around: AroundWords | undefined

  const follow = (step: ItemStep): boolean => {
    const events = said.follow(step)
    for (const event of events) unsent.push(event)
    if (step.type === 'delta') return events.length > 0
    return step.type === 'item-start' && isCall(step.item.kind) && nameOfCall(step.item) !== ''
  }

  /** What is over is told to be so once, when it is known how. */
  const tellEnd = (): void => {
    const ending = source.ending()
    if (ending === undefined) return
    for (const event of said.end(ending.kind)) unsent.push(event)
  }

  /** The frames that open the response come first, and take the first numbers. */
  const speak = (): string => {
    hasSpoken = true
    let text = framing.opening()
    for (const event of unsent) text += frameText(framing, event)
    return text
  }

  return {
    heard: source.heard,
    readAlike(frames) {
      const run = lastDelta && source.readAlike(frames)
      const place = said.place()
      if (run === undefined || lastDelta === undefined || place === undefined) return undefined
      around ??= aroundWords(lastDelta, place.said, place.part)
      return { bytes: framing.numberedRun(around.head, around, run.pieces), isContent: true }
    },
    read(frame) {
      const steps = source.read(frame)
      const [first] = steps
      around = undefined
      lastDelta = undefined
      let isContent = false
      for (const step of steps) isContent = follow(step) || isContent
      tellEnd()
      if (unsent.length === 0 || (!hasSpoken && !isContent)) return NOTHING_CARRIED
      const bytes = Buffer.from(speak())
      unsent = []
      lastDelta = steps.length === 1 && first?.type === 'delta' ? first : undefined
      return { bytes, isContent }
    },
    end(settled) {
      // It may be said more than once, so what is left for it stays.
      const rest = speak()
      const state = stateAtEnd(source, said.items(), settled, telling)
      const last = framing.responseFrame(`response.${state.status}`, state)
      return { bytes: Buffer.concat([Buffer.from(rest + last), DONE_FRAME]), state }
    },
    openItems: (openAs) => (hasSpoken ? said.items(openAs) : []),
    storedItems: () => (hasSpoken ? said.storedItems() : []),
    emptyDelta() {
      const place = said.place()
      if (!hasSpoken || place === undefined) return undefined
      return Buffer.from(frameText(framing, emptyDelta(place.said, place.part)))
    },
  }
}
