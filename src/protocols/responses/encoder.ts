import { type Fields, isObject } from '../../lib/types.ts'
import type { ClientProgram } from '../../model/caller.ts'
import { isFinal, type Problem, type ProblemCode, streamEnvelope } from '../../model/problem.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { EncodedReply, RelayEncoder, StreamAdapter } from '../shared/client-encoder.ts'
import type { CompactionReader, MintIds } from '../shared/event-reader.ts'
import { DONE_FRAME } from '../sse/frame-data.ts'
import { encodeCompaction } from './compaction.ts'
import { SEALED_REASONING } from './dialects.ts'
import {
  type AnswerSoFar,
  type EncodedAnswer,
  encodeReply,
  encodeStream,
  encodeWhole,
  type Telling,
} from './encode-answer.ts'
import { requestedField } from './fields.ts'
import { createFraming, type Framing } from './item-frames.ts'
import { createItemEvents } from './events-to-items.ts'
import type { ItemEventSource } from './item-events.ts'
import { createItemEventReader } from './read-stream.ts'
import type { ResponseOptions, ResponseState } from './response-object.ts'
import type { Sealing } from './write-item.ts'

/** A lane that speaks Responses itself: what it says is said anew, under ids and numbers that are ours. */
interface ResponsesLane {
  readonly origin: string
}

export interface ResponsesEncoder extends RelayEncoder<ResponsesLane> {
  readonly protocol: 'responses'
  readonly responseId: string
  /** The client has asked for what is sealed in its items. */
  readonly showsSeals: boolean
  /** Says what a lane has made of the conversation that was to be made short. */
  compact(reader: CompactionReader): StreamAdapter
  /** As it stands: of what `close()` or `fail()` has said last, before that in progress. */
  status(): ResponseState['status']
  /** The response without its items, in this status, as JSON: for whoever stores them apart. */
  withoutItems(status: ResponseState['status']): string
  /** From here on the response says that it is not stored. */
  encodeUnstored(): void
  /** From here on the body of the request is not needed. */
  forgetBody(): void
  /** Its items with all that is sealed in them, whether the client has asked for that or not: for whoever stores them. */
  storedItems(): readonly Fields[]
}

export interface ResponsesEncoderOptions extends ResponseOptions, Sealing {
  readonly requestId: string
  readonly mint: MintIds
  /** In milliseconds. */
  readonly now: () => number
  /** False while an answer that is opened could not be asked for by its id. */
  readonly mayOpen: () => boolean
  readonly program: ClientProgram | undefined
}

interface Speaking {
  readonly options: ResponsesEncoderOptions
  readonly framing: Framing
  readonly telling: Telling
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

const DONE = DONE_FRAME.toString()

export function createResponsesEncoder(options: ResponsesEncoderOptions): ResponsesEncoder {
  const framing = createFraming(options)
  const showsSeals = wantsSeals(options.request)
  const telling: Telling = {
    framing,
    mint: options.mint,
    sealReasoning: options.sealReasoning,
    sealCompaction: options.sealCompaction,
    rawReasoning: wantsSummary(options.request) ? 'as-summary' : 'as-it-comes',
    seals: showsSeals ? 'shown' : 'hidden',
    nowSeconds: () => endOf(options),
    isUnstored: () => speaking.isUnstored,
  }
  const speaking: Speaking = {
    options,
    framing,
    telling,
    answer: undefined,
    final: undefined,
    isUnstored: false,
    fromTheStart: framing.bookmark(),
    beforeEnd: undefined,
  }
  return {
    keepAlive: () => keepAlive(speaking),
    protocol: 'responses',
    responseId: options.responseId,
    showsSeals,
    translate: (reader) => carry(speaking, createItemEvents(reader, telling.rawReasoning)),
    relay: ({ origin }) => carry(speaking, createItemEventReader(origin)),
    relayReply: ({ value }, { origin }) => carryReply(speaking, value, origin),
    compact: (reader) => compact(speaking, reader),
    fail: (problem) => fail(speaking, problem),
    status: () => speaking.final?.status ?? 'in_progress',
    withoutItems: (status) => framing.responseJson({ ...stateIn(speaking, status), output: [] }),
    encodeUnstored() {
      speaking.isUnstored = true
    },
    forgetBody: framing.forgetBody,
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
  const { options, framing, answer, beforeEnd } = speaking
  if (options.request.delivery === 'json' || beforeEnd !== undefined) return undefined
  // What was made of a first word that still waits comes before anything else.
  if (!options.mayOpen()) return undefined
  if (!framing.isOpen) return Buffer.from(framing.opening())
  // With the items so far: some clients take this response for all that there is.
  return answer?.emptyDelta() ?? Buffer.from(framing.responseFrame('response.in_progress', stateSoFar(speaking)))
}

function carry(speaking: Speaking, source: ItemEventSource): StreamAdapter {
  const tell = speaking.options.request.delivery === 'stream' ? encodeStream : encodeReply
  const answer = tell(source, speaking.telling)
  return {
    state: answer.state,
    read: answer.read,
    readTemplated: answer.readTemplated,
    close: closeOf(speaking, answer),
  }
}

function carryReply(speaking: Speaking, value: unknown, origin: string): EncodedReply {
  const reply = encodeWhole(value, origin, speaking.telling)
  if (reply.kind !== 'reply') return reply
  const { usage, outputBytes } = reply.answer.state
  return { kind: 'reply', usage, outputBytes, close: closeOf(speaking, reply.answer) }
}

function compact(speaking: Speaking, reader: CompactionReader): StreamAdapter {
  const { options, framing } = speaking
  const storedItems = () => speaking.final?.output ?? []
  // Nothing is told of it before its end, so there is nothing to say in its pauses either.
  speaking.answer = { openItems: () => [], emptyDelta: () => undefined, storedItems }
  return encodeCompaction(reader, {
    ...{ options, framing },
    beginEnd: () => beginEnd(speaking),
    finish(state) {
      const unstored = speaking.isUnstored ? { unstored: true as const } : {}
      speaking.final = { ...state, completedAt: endOf(options), ...unstored }
      return speaking.final
    },
  })
}

function closeOf(speaking: Speaking, answer: EncodedAnswer): StreamAdapter['close'] {
  speaking.answer = answer
  return (settled) => {
    beginEnd(speaking)
    const { bytes, state } = answer.end(settled)
    speaking.final = state
    return bytes
  }
}

function wantsSummary(request: ResponsesRequest): boolean {
  const reasoning = requestedField(request, 'reasoning')
  const { summary, generate_summary } = isObject(reasoning) ? reasoning : {}
  return typeof (summary ?? generate_summary) === 'string'
}

function wantsSeals(request: ResponsesRequest): boolean {
  const include = requestedField(request, 'include')
  return Array.isArray(include) && include.includes(SEALED_REASONING)
}

function beginEnd(speaking: Speaking): void {
  speaking.beforeEnd ??= speaking.framing.bookmark()
  speaking.beforeEnd()
}

/** In seconds; a clock that was set back does not let an answer end before it began. */
const endOf = ({ now, createdAt }: ResponsesEncoderOptions): number => Math.max(createdAt, Math.floor(now() / 1000))

/** In two events, because clients differ in which of them they take for the failure. */
function fail(speaking: Speaking, problem: Problem): Buffer {
  const { framing, options } = speaking
  // What was made and might not leave has taken numbers that nobody has seen.
  const isUnheard = !options.mayOpen()
  if (isUnheard) {
    speaking.fromTheStart()
    speaking.answer = undefined
  } else beginEnd(speaking)
  const said = inCodesOf(options.program, problem)
  const { code, message } = said
  const output = speaking.answer?.openItems('incomplete') ?? []
  speaking.final = { status: 'failed', output, error: { code, message } }
  return Buffer.from(
    framing.opening() +
      framing.frame('error', errorFields(said, options.requestId)) +
      framing.responseFrame('response.failed', speaking.final) +
      DONE,
  )
}

const KNOWN_AS_FINAL: ReadonlySet<ProblemCode> = new Set([
  'invalid_prompt',
  'context_length_exceeded',
  'insufficient_quota',
])

/**
 * Codex and OpenCode retry after every code that they do not know, and each attempt is charged. So a final failure goes to them
 * as `invalid_prompt`, whose message both show. Measured: `docs/clients/broken-streams.md`.
 */
const inCodesOf = (program: ClientProgram | undefined, problem: Problem): Problem =>
  program === undefined || KNOWN_AS_FINAL.has(problem.code) || !isFinal(problem.code)
    ? problem
    : { ...problem, code: 'invalid_prompt' }

/**
 * What the event `error` says. Some clients read it flat and some nested, and some look at neither and wait for
 * `response.failed`, so it says everything twice and is never the last word.
 */
function errorFields(subject: Problem, requestId: string): Fields {
  const { code, message, param } = subject
  return { code, message, param, ...streamEnvelope(subject, requestId) }
}
