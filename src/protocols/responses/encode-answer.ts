import { type Fields, isObject } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { type EncodedReply, NOTHING_ENCODED, type StreamAdapter } from '../shared/client-encoder.ts'
import { DONE_FRAME } from '../sse/frame-data.ts'
import { createItemEmitter, type EmitOptions } from './emit-items.ts'
import { emptyDelta, type Framing, frameText, textEnvelope, type UnsentEvent } from './item-frames.ts'
import { type DeltaEvent, type ItemEvent, type ItemEventSource, isCall, nameOfCall } from './item-events.ts'
import { createItemEventReader } from './read-stream.ts'
import { type ResponseState, writeUsage } from './response-object.ts'
import type { ItemStatus, TextEnvelope } from './write-item.ts'

/**
 * Says an answer as a stream, whatever its lane speaks: ids, numbers and the response around the items are ours, fields
 * that nobody knows stay. Nothing is said before the first content, and the last event is said by `end`.
 */
export function encodeStream(source: ItemEventSource, telling: Telling): EncodedAnswer {
  const { framing } = telling
  const said = createItemEmitter(telling)
  /** What came before the first content. It has no numbers yet: something else may be said first. */
  let unsent: UnsentEvent[] = []
  let hasSpoken = false
  /** All that the last frame said, and what is around its words when it is said again. */
  let lastDelta: DeltaEvent | undefined
  let around: TextEnvelope | undefined

  const follow = (step: ItemEvent): boolean => {
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
    state: source.state,
    readTemplated(frames) {
      const run = lastDelta && source.readTemplated(frames)
      const place = said.place()
      if (run === undefined || lastDelta === undefined || place === undefined) return undefined
      around ??= textEnvelope(lastDelta, place.said, place.part)
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
      if (unsent.length === 0 || (!hasSpoken && !isContent)) return NOTHING_ENCODED
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

/** Says an answer as JSON: its client is told nothing before the whole. */
export const encodeReply = (source: ItemEventSource, telling: Telling): EncodedAnswer => tellItems(source, telling)

interface EncodedItems extends EncodedAnswer {
  follow(steps: readonly ItemEvent[]): void
}

function tellItems(source: ItemEventSource, telling: Telling): EncodedItems {
  const said = createItemEmitter(telling)
  const { state } = source
  const follow = (steps: readonly ItemEvent[]): void => {
    for (const step of steps) said.follow(step)
    const ending = source.ending()
    if (ending !== undefined) said.end(ending.kind)
    state.heldBytes = state.outputBytes
  }
  return {
    state,
    follow,
    read(frame) {
      follow(source.read(frame))
      return NOTHING_ENCODED
    },
    readTemplated(frames) {
      if (source.readTemplated(frames) === undefined) return undefined
      state.heldBytes = state.outputBytes
      return NOTHING_ENCODED
    },
    end(settled) {
      const state = stateAtEnd(source, said.items(), settled, telling)
      return { bytes: Buffer.from(telling.framing.responseJson(state)), state }
    },
    openItems: said.items,
    storedItems: said.storedItems,
    emptyDelta: () => undefined,
  }
}

type ReadReply = { readonly kind: 'reply'; readonly answer: EncodedAnswer } | Exclude<EncodedReply, { kind: 'reply' }>

/** The same of a lane's answer that is JSON itself: read as a stream's end is. */
export function encodeWhole(value: unknown, origin: string, telling: Telling): ReadReply {
  if (!isObject(value)) return NO_RESPONSE
  if (isError(value.error)) return { kind: 'error', said: readError(value.error) }
  if (!Array.isArray(value.output) && value.status === undefined) return NO_RESPONSE
  const reader = createItemEventReader(origin)
  const answer = tellItems(reader, telling)
  // A server that does not say how it ended has ended: a JSON answer is whole.
  answer.follow(reader.readResponse(typeof value.status === 'string' ? value : { ...value, status: 'completed' }))
  if (reader.state.error) return { kind: 'error', said: reader.state.error }
  return reader.ending() === undefined ? NO_RESPONSE : { kind: 'reply', answer }
}

const NO_RESPONSE = { kind: 'invalid', what: 'JSON that is not a response' } as const

/** An answer on its way to a Responses client. */
export interface EncodedAnswer extends AnswerSoFar, Pick<StreamAdapter, 'read' | 'readTemplated' | 'state'> {
  /** The last bytes, and how the response stands with them. Only after `heard.finished`. */
  end(settled: SettledCharge): { readonly bytes: Buffer; readonly state: ResponseState }
}

/** What a voice must know of an answer to speak in its pauses and when it fails. */
export interface AnswerSoFar {
  /** The items that the client has been told of; one that is still open in this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  /** The same with all that is sealed in them, whether the client has asked for that or not: for who stores the response. */
  storedItems(): readonly Fields[]
  /** An empty piece of what is being said, which breaks a silence; undefined while nothing is. */
  emptyDelta(): Buffer | undefined
}

export interface Telling extends EmitOptions {
  readonly framing: Framing
  /** The time of the end, in seconds. */
  readonly nowSeconds: () => number
  /** It could not be stored, whatever was asked for. */
  readonly isUnstored: () => boolean
}

/** How a response ends for the client. */
function stateAtEnd(
  source: Pick<ItemEventSource, 'ending'>,
  output: readonly Fields[],
  settled: SettledCharge,
  { nowSeconds, isUnstored }: Pick<Telling, 'nowSeconds' | 'isUnstored'>,
): ResponseState {
  const ending = source.ending()
  if (ending === undefined) throw new Error('an answer cannot be closed before its reader has told its end')
  const state = { output, usage: writeUsage(settled), ...(isUnstored() ? { unstored: true as const } : {}) }
  return ending.kind === 'incomplete'
    ? { ...state, status: 'incomplete', incompleteReason: ending.reason }
    : { ...state, status: 'completed', completedAt: nowSeconds() }
}
