import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import type { CarriedFrame, Carrier } from '../carrier.ts'
import type { MintIds } from '../mint-ids.ts'
import { DONE_FRAME } from '../sse/format-frame.ts'
import type { ResponsesDialect } from './dialects.ts'
import type { Envelope } from './envelope.ts'
import type { ItemStatus } from './output-item.ts'
import { createStepReader } from './read-steps.ts'
import type { ResponseState } from './response-object.ts'
import { type ItemStep, isCall, nameOfCall, type SpokenPart } from './spoken-item.ts'
import { type AroundWords, aroundWords, emptyDelta, framesOf, type UnsentEvent } from './step-frames.ts'
import { itemAtEnd, type SaidItem, sayItem } from './write-item.ts'
import { writeUsage } from './write-usage.ts'

export interface ReEmitLane {
  readonly dialect: ResponsesDialect
  readonly mint: MintIds
  /** Whether the client has asked for sealed reasoning: what it has not asked for is not sent to it. */
  readonly sealed: 'shown' | 'hidden'
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
  const said: SaidItem[] = []
  /** What came before the first content. It has no numbers yet: something else may be said first. */
  let unsent: UnsentEvent[] = []
  let hasSpoken = false
  let openPart: SpokenPart | undefined
  /** All that the last frame said, and what is around its words when it is said again. */
  let lastDelta: Extract<ItemStep, { type: 'delta' }> | undefined
  let around: AroundWords | undefined

  const current = (step: ItemStep): SaidItem => {
    const last = said[said.length - 1]
    if (last?.item === step.item) return last
    const next = sayItem(step.item, said.length, lane.mint)
    said.push(next)
    return next
  }

  const follow = (step: ItemStep): boolean => {
    const item = current(step)
    for (const event of framesOf(step, item, lane.sealed)) unsent.push(event)
    if (step.type === 'delta' || step.type === 'part-start') openPart = step.part
    if (step.type === 'part-end' || step.type === 'item-end') openPart = undefined
    return (
      step.type === 'delta' || (step.type === 'item-start' && isCall(step.item.kind) && nameOfCall(step.item) !== '')
    )
  }

  const speak = (): Buffer[] => {
    const frames = unsent.map(([type, fields]) => envelope.frame(type, fields))
    unsent = []
    return frames
  }

  /** The frames that open the response come first, and take the first numbers. */
  const open = (): Buffer[] => {
    hasSpoken = true
    return envelope.isOpen ? [] : [envelope.opening()]
  }

  const itemsAs = (sealed: 'shown' | 'hidden', openAs: ItemStatus = 'incomplete'): readonly Fields[] =>
    hasSpoken ? said.map((item) => itemAtEnd(item, { sealed, openAs })) : []

  return {
    heard: reader.heard,
    readAlike(frames) {
      const run = lastDelta && reader.readAlike(frames)
      if (run === undefined || lastDelta === undefined) return undefined
      around ??= aroundWords(lastDelta, current(lastDelta))
      return { bytes: envelope.numberedRun(around.head, around, run.pieces), isContent: true }
    },
    read(frame) {
      const steps = reader.read(frame)
      const [first] = steps
      around = undefined
      lastDelta = undefined
      let isContent = false
      for (const step of steps) isContent = follow(step) || isContent
      if (unsent.length === 0 || (!hasSpoken && !isContent)) return NOTHING
      const frames = [...open(), ...speak()]
      lastDelta = steps.length === 1 && first?.type === 'delta' ? first : undefined
      return { bytes: frames.length === 1 ? frames[0] : Buffer.concat(frames), isContent }
    },
    end(settled) {
      const frames = [...open(), ...speak()]
      const state = stateAtEnd(reader.ending(), itemsAs(lane.sealed), settled, lane.nowSeconds())
      const last = Buffer.from(envelope.responseText(`response.${state.status}`, state))
      return { bytes: Buffer.concat([...frames, last, DONE_FRAME]), state }
    },
    openItems: (openAs) => itemsAs(lane.sealed, openAs),
    storedItems: () => itemsAs('shown'),
    emptyDelta() {
      const last = said[said.length - 1]
      if (!hasSpoken || last === undefined || openPart === undefined) return undefined
      const [type, fields] = emptyDelta(last, openPart)
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
