import { type Fields, isObject } from '../../lib/types.ts'
import type { ClientProgram } from '../../model/caller.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { isFinal, type Problem, type ProblemCode, streamEnvelope } from '../../model/problem.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import {
  type CompactionReader,
  type EncodedFrame,
  type EncodedReply,
  type EventReader,
  type MintIds,
  NOTHING_ENCODED,
  type ReceivedReply,
  type RelayEncoder,
  type StreamAdapter,
} from '../shared/codec-types.ts'
import { DONE_FRAME } from '../sse/frames.ts'
import { RepeatedText } from '../sse/repeated-text.ts'
import { type CompactedOutput, compactedOutput } from './compaction.ts'
import { SEALED_REASONING } from './dialects.ts'
import { type EmitOptions, ItemEmitter, type ItemStatus, type Sealing } from './emit-items.ts'
import { ItemBuilder } from './events-to-items.ts'
import { requestedField } from './fields.ts'
import {
  type DeltaEvent,
  type ItemEvent,
  type ItemEventSource,
  isCall,
  isRepeatable,
  nameOfCall,
} from './item-events.ts'
import { createItemEventReader } from './read-stream.ts'
import {
  type FramePlace,
  FrameWriter,
  type ResponseOptions,
  type ResponseState,
  START,
  writeUsage,
} from './response-frames.ts'

/** A lane that speaks Responses itself. Its answer is rewritten with ids and numbers of ours. */
interface ResponsesLane {
  readonly origin: string
}

export interface ResponsesEncoderOptions extends ResponseOptions, Sealing {
  readonly requestId: string
  readonly mint: MintIds
  /** In milliseconds. */
  readonly now: () => number
  /** False while the client could not yet fetch the response by its id. */
  readonly mayOpen: () => boolean
  readonly program: ClientProgram | undefined
  /** A stream that begins with a tool call is held back until it is complete. */
  readonly holdsCalls?: boolean | undefined
}

/** Encodes the answer of a turn for a client that speaks Responses. */
export class ResponsesEncoder implements RelayEncoder<ResponsesLane> {
  readonly protocol = 'responses'
  readonly responseId: string
  /** The client asked for sealed data in its items. */
  readonly showsSeals: boolean
  readonly #options: ResponsesEncoderOptions
  readonly #encodeOptions: EncodeOptions
  readonly #frames: FrameWriter
  /** Where the end begins. It may be encoded twice, to be stored and to be sent, and gets the same numbers each time. */
  #endPlace: FramePlace | undefined
  /** The answer of the current lane. */
  #answer: AnswerSoFar | undefined
  #final: ResponseState | undefined
  #isUnstored = false

  constructor(options: ResponsesEncoderOptions) {
    const { request, responseId, mint, sealReasoning, sealCompaction } = options
    const frames = new FrameWriter(options)
    const include = requestedField(request, 'include')
    const reasoning = requestedField(request, 'reasoning')
    const { summary, generate_summary: olderSummary } = isObject(reasoning) ? reasoning : {}
    this.responseId = responseId
    this.showsSeals = Array.isArray(include) && include.includes(SEALED_REASONING)
    this.#options = options
    this.#frames = frames
    this.#encodeOptions = {
      ...{ frames, mint, sealReasoning, sealCompaction, holdsCalls: options.holdsCalls },
      rawReasoning: typeof (summary ?? olderSummary) === 'string' ? 'as-summary' : 'as-it-comes',
      seals: this.showsSeals ? 'shown' : 'hidden',
    }
  }

  /** Comments do not reset the idle timer of every client, and undocumented events break others. */
  keepAlive(): Buffer | undefined {
    const { request, mayOpen } = this.#options
    if (request.delivery === 'json' || this.#endPlace !== undefined || !mayOpen()) return undefined
    if (!this.#frames.isOpen) return Buffer.from(this.#frames.opening())
    const delta = this.#answer?.emptyDelta()
    if (delta !== undefined) return delta
    // With the items so far, because some clients take this response for the whole answer.
    const output = this.#answer?.openItems('in_progress') ?? []
    return Buffer.from(this.#frames.responseFrame('response.in_progress', { status: 'in_progress', output }))
  }

  translate(reader: EventReader): StreamAdapter {
    return this.#adapt(new ItemBuilder(reader, this.#encodeOptions.rawReasoning))
  }

  relay({ origin }: ResponsesLane): StreamAdapter {
    return this.#adapt(createItemEventReader(origin))
  }

  relayReply({ value }: ReceivedReply, { origin }: ResponsesLane): EncodedReply {
    const reply = encodeWhole(value, origin, this.#encodeOptions)
    if (reply.kind !== 'reply') return reply
    const { state } = reply.answer
    const { usage, outputBytes } = state
    return { kind: 'reply', usage, outputBytes, served: state, close: this.#closeWith(reply.answer) }
  }

  /** Encodes a lane's compaction of the conversation. The client gets nothing before its end: until then another lane may be tried. */
  compact(reader: CompactionReader): StreamAdapter {
    const { request, mint, sealCompaction } = this.#options
    let output: CompactedOutput | undefined
    const outputOnce = () => {
      output ??= compactedOutput(reader.compacted(), { request, mint, sealCompaction })
      return output
    }
    this.#answer = { openItems: () => [], emptyDelta: () => undefined, storedItems: () => this.#final?.output ?? [] }
    return {
      state: reader.state,
      read(frame) {
        reader.read(frame)
        return NOTHING_ENCODED
      },
      compactedSize: () => outputOnce().size,
      close: (settled) => Buffer.from(this.#endCompaction(outputOnce().items, settled)),
    }
  }

  /**
   * Encodes a failure. Some clients read the event `error` flat, some nested, and some wait for `response.failed`, so `error` has
   * everything twice and is not the last event.
   */
  fail(problem: Problem): Buffer {
    const { mayOpen, program, requestId } = this.#options
    if (mayOpen()) this.#beginEnd()
    else {
      // Frames that were made and not sent have used numbers that the client has not seen.
      this.#frames.rewindTo(START)
      this.#answer = undefined
    }
    const spelled = problemFor(program, problem)
    const { code, message, param } = spelled
    const output = this.#answer?.openItems('incomplete') ?? []
    this.#final = { status: 'failed', output, error: { code, message } }
    return Buffer.from(
      this.#frames.opening() +
        this.#frames.frame('error', { code, message, param, ...streamEnvelope(spelled, requestId) }) +
        this.#frames.responseFrame('response.failed', this.#final) +
        DONE,
    )
  }

  /** `in_progress` until `close()` or `fail()`. */
  status(): ResponseState['status'] {
    return this.#final?.status ?? 'in_progress'
  }

  /** The response without its items, in this status, as JSON: the store keeps the items apart. */
  withoutItems(status: ResponseState['status']): string {
    const state = this.#final?.status === status ? this.#final : { status }
    return this.#frames.responseJson({ ...state, output: [] })
  }

  /** From here on the response has `store: false`. */
  encodeUnstored(): void {
    this.#isUnstored = true
  }

  /** From here on the body of the request is not needed. */
  forgetBody(): void {
    this.#frames.forgetBody()
  }

  /** Its items for the store, with all sealed data, whether the client asked for it or not. */
  storedItems(): readonly Fields[] {
    return this.#answer?.storedItems() ?? []
  }

  #adapt(source: ItemEventSource): StreamAdapter {
    const encode = this.#options.request.delivery === 'stream' ? encodeStream : encodeReply
    const answer = encode(source, this.#encodeOptions)
    const { state, read, readRepeated } = answer
    return { state, read, readRepeated, close: this.#closeWith(answer) }
  }

  #closeWith(answer: EncodedAnswer): StreamAdapter['close'] {
    this.#answer = answer
    return (settled) => {
      this.#beginEnd()
      const { bytes, state } = answer.end(settled, { completedAt: this.#nowSeconds(), isUnstored: this.#isUnstored })
      this.#final = state
      return bytes
    }
  }

  #beginEnd(): void {
    if (this.#endPlace === undefined) this.#endPlace = this.#frames.place()
    else this.#frames.rewindTo(this.#endPlace)
  }

  #endCompaction(output: readonly Fields[], settled: SettledCharge): string {
    const { request, responseId, createdAt } = this.#options
    const frames = this.#frames
    const usage = writeUsage(settled)
    if (request.compacts === 'at-endpoint') {
      // The endpoint has an object of its own.
      return JSON.stringify({ id: responseId, object: 'response.compaction', created_at: createdAt, output, usage })
    }
    const isStream = request.delivery === 'stream'
    if (isStream) this.#beginEnd()
    const unstored = this.#isUnstored ? { unstored: true as const } : {}
    this.#final = { status: 'completed', output, usage, completedAt: this.#nowSeconds(), ...unstored }
    if (!isStream) return frames.responseJson(this.#final)
    const fields = { output_index: 0, item: output.at(-1) }
    return (
      frames.opening() +
      frames.frame('response.output_item.added', fields) +
      frames.frame('response.output_item.done', fields) +
      frames.responseFrame('response.completed', this.#final) +
      DONE
    )
  }

  /** A clock that was set back must not end an answer before it began. */
  #nowSeconds(): number {
    return Math.max(this.#options.createdAt, Math.floor(this.#options.now() / 1000))
  }
}

const DONE = DONE_FRAME.toString()

const FINAL_FOR_CODEX: ReadonlySet<ProblemCode> = new Set([
  'invalid_prompt',
  'context_length_exceeded',
  'insufficient_quota',
])

/**
 * Codex and OpenCode retry after every code that they do not know, and each attempt is charged. So a final failure goes to them
 * as `invalid_prompt`, whose message both show. Measured: `docs/clients/broken-streams.md`.
 */
const problemFor = (program: ClientProgram | undefined, problem: Problem): Problem =>
  program === undefined || FINAL_FOR_CODEX.has(problem.code) || !isFinal(problem.code)
    ? problem
    : { ...problem, code: 'invalid_prompt' }

// One lane's answer.

/** What keep-alives and failures need of an answer. */
interface AnswerSoFar {
  /** The items that the client has got; an open one has this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  storedItems(): readonly Fields[]
  /** An empty delta of the open part, which breaks a silence; undefined while no part is open. */
  emptyDelta(): Buffer | undefined
}

/** An answer on its way to a Responses client. */
export interface EncodedAnswer extends AnswerSoFar, Pick<StreamAdapter, 'read' | 'readRepeated' | 'state'> {
  /** The last bytes, and the response as it ends. Only after `state.finished`. */
  end(settled: SettledCharge, at: AnswerEnd): { readonly bytes: Buffer; readonly state: ResponseState }
}

interface AnswerEnd {
  /** In seconds. */
  readonly completedAt: number
  /** The client asked for storage, and storing failed. */
  readonly isUnstored: boolean
}

export interface EncodeOptions extends EmitOptions {
  readonly frames: FrameWriter
  readonly holdsCalls?: boolean | undefined
}

/**
 * Encodes an answer of any protocol as a stream: ids, numbers and the response around the items are ours,
 * unknown fields stay. It writes nothing before the first content; `end` writes the last event.
 */
export function encodeStream(source: ItemEventSource, options: EncodeOptions): EncodedAnswer {
  const { frames, holdsCalls } = options
  const emitter = new ItemEmitter(options)
  let hasOpened = false

  /** The frames of all unsent events. The opening comes first and gets the first numbers. */
  const writeUnsent = (): string => {
    hasOpened = true
    let text = frames.opening()
    for (const event of emitter.unsent) text += frames.event(event)
    return text
  }

  const encode = (events: readonly ItemEvent[]): EncodedFrame => {
    let isContent = false
    for (const event of events) {
      const before = emitter.unsent.length
      emitter.emit(event)
      if (event.type === 'delta') isContent ||= emitter.unsent.length > before
      else if (event.type === 'item-start') isContent ||= isCall(event.item.kind) && nameOfCall(event.item) !== ''
    }
    const ending = source.ending()
    if (ending !== undefined) emitter.end(ending.kind)
    // The frames get their numbers when they are sent, so an answer that is held back has none yet (`holdCalls`).
    const opens = isContent && !(holdsCalls && source.state.calls > source.state.answerCalls)
    if (emitter.unsent.length === 0 || (!hasOpened && !opens)) return NOTHING_ENCODED
    const bytes = writeUnsent()
    emitter.unsent = []
    return { bytes, isContent }
  }

  const repeated = new RepeatedText()
  let last: DeltaEvent | undefined

  return {
    state: source.state,
    read(frame) {
      const events = source.read(frame)
      last = source.repeatDelta && source.state.usage === undefined ? onlyText(events) : undefined
      repeated.learn(frame, last?.text)
      return encode(events)
    },
    readRepeated(frames) {
      const texts = repeated.take(frames)
      if (texts.length === 0) return undefined
      const { repeatDelta } = source
      return encode(texts.map((text) => repeatDelta!(last!, text)))
    },
    end(settled, at) {
      emitLast(source, emitter)
      // The end may be encoded twice, so the unsent events stay.
      const rest = writeUnsent()
      const state = stateAtEnd(source, emitter, settled, at)
      return { bytes: Buffer.from(rest + frames.responseFrame(`response.${state.status}`, state) + DONE), state }
    },
    openItems: (openAs) => (hasOpened ? emitter.items(openAs) : []),
    storedItems: () => (hasOpened ? emitter.storedItems() : []),
    emptyDelta() {
      const event = hasOpened ? emitter.emptyDelta() : undefined
      return event && Buffer.from(frames.event(event))
    },
  }
}

/** The text of a message, where a frame gave no other event. */
function onlyText(events: readonly ItemEvent[]): DeltaEvent | undefined {
  const [event] = events
  return events.length === 1 && isRepeatable(event) ? event : undefined
}

/** Encodes an answer as JSON: the client gets nothing before the whole. `events` were read from the source already. */
function encodeReply(
  source: ItemEventSource,
  options: EncodeOptions,
  events: readonly ItemEvent[] = [],
): EncodedAnswer {
  const emitter = new ItemEmitter(options)
  const { state } = source
  const emitAll = (next: readonly ItemEvent[]): void => {
    for (const event of next) emitter.emit(event)
    const ending = source.ending()
    if (ending !== undefined) emitter.end(ending.kind)
    emitter.unsent = []
    state.heldBytes = state.outputBytes
  }
  emitAll(events)
  return {
    state,
    read(frame) {
      emitAll(source.read(frame))
      return NOTHING_ENCODED
    },
    end(settled, at) {
      emitLast(source, emitter)
      const response = stateAtEnd(source, emitter, settled, at)
      return { bytes: Buffer.from(options.frames.responseJson(response)), state: response }
    },
    openItems: (openAs) => emitter.items(openAs),
    storedItems: () => emitter.storedItems(),
    emptyDelta: () => undefined,
  }
}

/** A source may wait for the end of the stream with its last events. */
function emitLast(source: ItemEventSource, emitter: ItemEmitter): void {
  if (source.ending() !== undefined || !source.state.finished) return
  for (const event of source.read(DONE_FRAME)) emitter.emit(event)
  const ending = source.ending()
  if (ending !== undefined) emitter.end(ending.kind)
}

type ReadReply = { readonly kind: 'reply'; readonly answer: EncodedAnswer } | Exclude<EncodedReply, { kind: 'reply' }>

/** Encodes a lane's JSON answer, which is read like the end of a stream. */
export function encodeWhole(value: unknown, origin: string, options: EncodeOptions): ReadReply {
  if (!isObject(value)) return NO_RESPONSE
  if (isError(value.error)) return { kind: 'error', error: readError(value.error) }
  if (!Array.isArray(value.output) && value.status === undefined) return NO_RESPONSE
  const reader = createItemEventReader(origin)
  // Some servers send no status. A JSON answer is whole.
  const events = reader.readResponse(typeof value.status === 'string' ? value : { ...value, status: 'completed' })
  if (reader.state.error) return { kind: 'error', error: reader.state.error }
  if (reader.ending() === undefined) return NO_RESPONSE
  return { kind: 'reply', answer: encodeReply(reader, options, events) }
}

const NO_RESPONSE = { kind: 'invalid', what: 'JSON that is not a response' } as const

/** The response as it ends for the client. */
function stateAtEnd(
  source: ItemEventSource,
  emitter: ItemEmitter,
  settled: SettledCharge,
  { completedAt, isUnstored }: AnswerEnd,
): ResponseState {
  const ending = source.ending()
  if (ending === undefined) throw new Error('an answer cannot be closed before its reader has found its end')
  const output = emitter.items()
  const state = {
    ...{ output, usage: writeUsage(settled), serviceTier: settled.values?.service_tier ?? 'default' },
    ...(isUnstored ? { unstored: true as const } : {}),
  }
  return ending.kind === 'incomplete'
    ? { ...state, status: 'incomplete', incompleteReason: ending.reason }
    : { ...state, status: 'completed', completedAt }
}
