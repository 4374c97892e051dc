import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import type { CarriedFrame, Carrier } from '../carrier.ts'
import { DONE_FRAME } from '../sse/format-frame.ts'
import type { ResponsesDialect } from './dialects.ts'
import type { Envelope } from './envelope.ts'
import type { ItemStatus } from './output-item.ts'
import { createStepReader } from './read-steps.ts'
import type { ResponseState } from './response-object.ts'
import { createSaidItems, type HowSaid } from './said-items.ts'
import { type ItemStep, isCall, nameOfCall } from './spoken-item.ts'
import { type AroundWords, aroundWords, type DeltaStep, emptyDelta, type UnsentEvent } from './step-frames.ts'
import { writeUsage } from './write-usage.ts'

export interface ReEmitLane extends HowSaid {
  readonly dialect: ResponsesDialect
  /** The time of the end, in seconds. */
  readonly nowSeconds: () => number
}

/** A lane that speaks Responses, for a client that does too. */
export interface ReEmitter extends Omit<Carrier, 'close'> {
  /** The last frames, and how the response stands with them. */
  end(settled: SettledCharge): { readonly bytes: Buffer; readonly state: ResponseState }
  /** The items that have been said so far, as the client knows them; one that is open has this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  /** The same with what is sealed in them, whoever has asked for it: for who stores the response. */
  storedItems(): readonly Fields[]
  /** Breaks a silence within a part; undefined where none is open. */
  emptyDelta(): Buffer | undefined
}

const NOTHING: CarriedFrame = { bytes: undefined, isContent: false }

/**
 * Every frame of the provider is read and written anew: ids, numbers and the response around the items are ours, fields
 * that nobody knows stay. Nothing is said before the first content, and the last event is said by `close`.
 */
export function createReEmitter(envelope: Envelope, lane: ReEmitLane): ReEmitter {
  const reader = createStepReader()
  const said = createSaidItems(lane)
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
    const ending = reader.ending()
    if (ending === undefined) return
    for (const event of said.end(ending.kind)) unsent.push(event)
  }

  const speak = (): Buffer[] => unsent.map(([type, fields]) => envelope.frame(type, fields))

  /** The frames that open the response come first, and take the first numbers. */
  const open = (): Buffer[] => {
    hasSpoken = true
    return envelope.isOpen ? [] : [envelope.opening()]
  }

  return {
    heard: reader.heard,
    readAlike(frames) {
      const run = lastDelta && reader.readAlike(frames)
      const place = said.place()
      if (run === undefined || lastDelta === undefined || place === undefined) return undefined
      around ??= aroundWords(lastDelta, place.said, place.part)
      return { bytes: envelope.numberedRun(around.head, around, run.pieces), isContent: true }
    },
    read(frame) {
      const steps = reader.read(frame)
      const [first] = steps
      around = undefined
      lastDelta = undefined
      let isContent = false
      for (const step of steps) isContent = follow(step) || isContent
      tellEnd()
      if (unsent.length === 0 || (!hasSpoken && !isContent)) return NOTHING
      const frames = [...open(), ...speak()]
      unsent = []
      lastDelta = steps.length === 1 && first?.type === 'delta' ? first : undefined
      return { bytes: frames.length === 1 ? frames[0] : Buffer.concat(frames), isContent }
    },
    end(settled) {
      // It may be said more than once, so what is left for it stays.
      const frames = [...open(), ...speak()]
      const state = stateAtEnd(reader.ending(), said.items(), settled, lane.nowSeconds())
      const last = Buffer.from(envelope.responseText(`response.${state.status}`, state))
      return { bytes: Buffer.concat([...frames, last, DONE_FRAME]), state }
    },
    openItems: (openAs) => (hasSpoken ? said.items(openAs) : []),
    storedItems: () => (hasSpoken ? said.storedItems() : []),
    emptyDelta() {
      const place = said.place()
      if (!hasSpoken || place === undefined) return undefined
      const [type, fields] = emptyDelta(place.said, place.part)
      return envelope.frame(type, fields)
    },
  }
}

/** How a response ends for the client. */
export function stateAtEnd(
  ending: ReturnType<ReturnType<typeof createStepReader>['ending']>,
  output: readonly Fields[],
  settled: SettledCharge,
  nowSeconds: number,
): ResponseState {
  const usage = writeUsage(settled)
  if (ending?.kind === 'incomplete') {
    return { status: 'incomplete', output, usage, incompleteReason: ending.reason }
  }
  return { status: 'completed', output, usage, completedAt: nowSeconds }
}
