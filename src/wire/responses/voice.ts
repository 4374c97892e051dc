import type { Fields } from '../../lib/is-object.ts'
import { isObject } from '../../lib/is-object.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { FinishReason, Opaque } from '../../model/event.ts'
import type { Problem } from '../../model/problem.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { CarriedReply, Carrier } from '../carrier.ts'
import type { CompactionReader } from '../compaction-reader.ts'
import type { EventReader } from '../event-reader.ts'
import type { MintIds } from '../mint-ids.ts'
import { DONE_FRAME } from '../sse/format-frame.ts'
import type { Voice } from '../voice.ts'
import { carryCompaction } from './carry-compaction.ts'
import type { ResponsesDialect } from './dialects.ts'
import { createEnvelope, type Envelope } from './envelope.ts'
import type { ItemStatus } from './output-item.ts'
import { errorFields } from './problem.ts'
import { createReEmitter, type ReEmitLane } from './re-emit.ts'
import { reEmitReply } from './re-emit-reply.ts'
import type { ResponseOptions, ResponseState } from './response-object.ts'
import { SEALED_REASONING } from './sealed-include.ts'
import { type Translation, type TranslationOptions, translateReply, translateStream } from './translate.ts'
import { writeUsage } from './write-usage.ts'

/** A lane that speaks Responses itself. */
export interface ResponsesLane {
  readonly dialect: ResponsesDialect
  readonly origin: string
}

export interface ResponsesVoice extends Voice {
  readonly protocol: 'responses'
  readonly responseId: string
  /** Says what a lane says that speaks Responses itself, under ids and numbers that are ours. */
  reEmit(lane: ResponsesLane): Carrier
  /** The same of a JSON answer. */
  reEmitReply(value: unknown, lane: ResponsesLane): CarriedReply
  /** Says what a lane has made of the conversation that was to be made short. */
  compact(reader: CompactionReader): Carrier
  /** The response as it stands, for whoever stores it: after `close()` or `fail()` the final one, before what there is so far. */
  response(): Fields
  status(): ResponseState['status']
  /** The response without its items, in this status, as JSON: for whoever stores them apart. */
  withoutItems(status: ResponseState['status']): string
  /** From here on the response says that it is not stored. */
  tellUnstored(): void
  /** Its items with all that is sealed in them, whether the client has asked for that or not: for whoever stores them. */
  storedItems(): readonly Fields[]
}

export interface ResponsesVoiceOptions extends ResponseOptions {
  readonly requestId: string
  readonly mint: MintIds
  /** In milliseconds. */
  readonly now: () => number
  /** False while an answer that is opened could not be asked for by its id. */
  readonly mayOpen: () => boolean
  /** An envelope around what only a provider can read, for the client to carry. */
  readonly seal: (opaque: Opaque) => string
  readonly sealCompaction: (compacted: Compacted) => string
}

interface Speaking {
  readonly options: ResponsesVoiceOptions
  readonly envelope: Envelope
  /** The answer of the lane that is speaking. */
  answer: AnswerSoFar | undefined
  /** What it has come to in the end. */
  final: ResponseState | undefined
  /** It could not be stored: a JSON answer says so. */
  isUnstored: boolean
  /** Back to where nothing has been said. */
  readonly fromTheStart: () => void
  /** Back to where the end begins. It may be said more than once, to be kept and to be sent, and only one of these leaves. */
  beforeEnd: (() => void) | undefined
}

/** What a voice must know of an answer to speak in its pauses and when it fails. */
interface AnswerSoFar {
  /** The items that the client has been told of; one that is still open in this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  /** An empty piece of what is being said; undefined while nothing is. */
  emptyDelta(): Buffer | undefined
  /** The same with all that is sealed in them, whether the client has asked for that or not. */
  storedItems(): readonly Fields[]
}

const DONE = DONE_FRAME.toString()

export function openResponsesVoice(options: ResponsesVoiceOptions): ResponsesVoice {
  const envelope = createEnvelope(options)
  const speaking: Speaking = {
    options,
    envelope,
    answer: undefined,
    final: undefined,
    isUnstored: false,
    fromTheStart: envelope.bookmark(),
    beforeEnd: undefined,
  }
  return {
    keepAlive: () => keepAlive(speaking),
    protocol: 'responses',
    responseId: options.responseId,
    translate: (reader) => translate(speaking, reader),
    reEmit: (lane) => reEmit(speaking, lane),
    reEmitReply: (value, lane) => reEmitJson(speaking, value, lane),
    compact(reader) {
      const storedItems = () => speaking.final?.output ?? []
      speaking.answer = { openItems: () => [], emptyDelta: () => undefined, storedItems }
      return carryCompaction(reader, {
        ...{ options, envelope },
        beginEnd: () => beginEnd(speaking),
        finish: (state) => {
          speaking.final = { ...state, completedAt: endOf(options), ...unstoredIn(speaking) }
          return speaking.final
        },
      })
    },
    fail: (problem) => fail(speaking, problem),
    response: () => envelope.response(speaking.final ?? stateSoFar(speaking)),
    status: () => speaking.final?.status ?? 'in_progress',
    withoutItems: (status) => envelope.responseJson({ ...stateIn(speaking, status), output: [] }),
    tellUnstored() {
      speaking.isUnstored = true
    },
    storedItems: () => speaking.answer?.storedItems() ?? [],
  }
}

/** As it has ended, if that is what is asked for. */
const stateIn = ({ final }: Speaking, status: ResponseState['status']): ResponseState =>
  final?.status === status ? final : { status, output: [] }

const stateSoFar = ({ answer }: Speaking): ResponseState => ({
  status: 'in_progress',
  output: answer?.openItems('in_progress') ?? [],
})

/** Comments do not reset the idle timer of every client, and events that are in no document break others. */
function keepAlive(speaking: Speaking): Buffer | undefined {
  const { options, envelope, answer, beforeEnd } = speaking
  if (options.turn.delivery === 'json' || beforeEnd !== undefined) return undefined
  // What was made of a first word that still waits comes before anything else.
  if (!options.mayOpen()) return undefined
  if (!envelope.isOpen) return envelope.opening()
  // With the items so far: some clients take this response for all that there is.
  return answer?.emptyDelta() ?? Buffer.from(envelope.responseText('response.in_progress', stateSoFar(speaking)))
}

function translate(speaking: Speaking, reader: EventReader): Carrier {
  const { options, envelope } = speaking
  const { mint, seal } = options
  const translating = { reader, mint, seal, ...wishesOf(options.turn) }
  const isStream = options.turn.delivery === 'stream'
  const translation = isStream ? translateStream(translating, envelope) : translateReply(translating)
  speaking.answer = translation
  return {
    heard: translation.heard,
    read: translation.read,
    readAlike: translation.readAlike,
    close: isStream
      ? createStreamEnd(speaking, translation)
      : (settled) => Buffer.from(envelope.responseJson(finish(speaking, translation, settled))),
  }
}

/** What the client wants to be told of the reasoning. */
function wishesOf({ fields }: ResponsesRequest): ReasoningWishes {
  const { summary, generate_summary } = isObject(fields.reasoning) ? fields.reasoning : {}
  const { include } = fields
  return {
    rawReasoning: typeof (summary ?? generate_summary) === 'string' ? 'as-summary' : 'as-it-comes',
    seals: Array.isArray(include) && include.includes(SEALED_REASONING) ? 'shown' : 'hidden',
  }
}

type ReasoningWishes = Pick<TranslationOptions, 'rawReasoning' | 'seals'>

function createStreamEnd(speaking: Speaking, translation: Translation): Carrier['close'] {
  const { envelope } = speaking
  let rest: { readonly text: string; readonly goBehind: () => void } | undefined
  return (settled) => {
    if (rest === undefined) {
      beginEnd(speaking)
      rest = { text: translation.rest(), goBehind: envelope.bookmark() }
    }
    rest.goBehind()
    const state = finish(speaking, translation, settled)
    return Buffer.from(rest.text + envelope.responseText(`response.${state.status}`, state) + DONE)
  }
}

function laneOf({ options }: Speaking, { dialect, origin }: ResponsesLane): ReEmitLane {
  return {
    dialect,
    mint: options.mint,
    seal: (data) => options.seal({ wire: 'responses', origin, data }),
    sealCompaction: (data) => options.sealCompaction({ kind: 'native', opaque: { wire: 'responses', origin, data } }),
    ...wishesOf(options.turn),
    nowSeconds: () => endOf(options),
  }
}

function reEmit(speaking: Speaking, lane: ResponsesLane): Carrier {
  const emitter = createReEmitter(speaking.envelope, laneOf(speaking, lane))
  speaking.answer = emitter
  return {
    ...emitter,
    close(settled) {
      beginEnd(speaking)
      const { bytes, state } = emitter.end(settled)
      speaking.final = state
      return bytes
    },
  }
}

function reEmitJson(speaking: Speaking, value: unknown, lane: ResponsesLane): CarriedReply {
  const reply = reEmitReply(value, laneOf(speaking, lane))
  if (reply.kind !== 'reply') return reply
  speaking.answer = { openItems: () => [], emptyDelta: () => undefined, storedItems: reply.storedItems }
  return {
    ...reply,
    close(settled) {
      speaking.final = { ...reply.end(settled), ...unstoredIn(speaking) }
      return Buffer.from(speaking.envelope.responseJson(speaking.final))
    },
  }
}

const unstoredIn = ({ isUnstored }: Speaking): Pick<ResponseState, 'unstored'> => (isUnstored ? { unstored: true } : {})

function beginEnd(speaking: Speaking): void {
  speaking.beforeEnd ??= speaking.envelope.bookmark()
  speaking.beforeEnd()
}

function finish(speaking: Speaking, translation: Translation, settled: SettledCharge): ResponseState {
  const { reason, output } = translation.ending()
  const usage = writeUsage(settled)
  speaking.final = { output, usage, ...statusOf(reason, speaking.options), ...unstoredIn(speaking) }
  return speaking.final
}

function statusOf(
  reason: FinishReason,
  options: ResponsesVoiceOptions,
): Pick<ResponseState, 'status' | 'incompleteReason' | 'completedAt'> {
  switch (reason) {
    case 'length':
      return { status: 'incomplete', incompleteReason: 'max_output_tokens' }
    case 'content-filter':
      return { status: 'incomplete', incompleteReason: 'content_filter' }
    default:
      return { status: 'completed', completedAt: endOf(options) }
  }
}

/** In seconds; a clock that was set back does not let an answer end before it began. */
const endOf = ({ now, createdAt }: ResponsesVoiceOptions): number => Math.max(createdAt, Math.floor(now() / 1000))

/** In two events, because clients differ in which of them they take for the failure. */
function fail(speaking: Speaking, problem: Problem): Buffer {
  const { envelope, options } = speaking
  // What was made and might not leave has taken numbers that nobody has seen.
  const isUnheard = !options.mayOpen()
  if (isUnheard) {
    speaking.fromTheStart()
    speaking.answer = undefined
  } else beginEnd(speaking)
  const { code, message } = problem
  const output = speaking.answer?.openItems('incomplete') ?? []
  speaking.final = { status: 'failed', output, error: { code, message } }
  return Buffer.from(
    envelope.openingText() +
      envelope.frameText('error', errorFields(problem, options.requestId)) +
      envelope.responseText('response.failed', speaking.final) +
      DONE,
  )
}
