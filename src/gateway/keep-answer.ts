import { isLogAsSent } from '../db/content/event-log.ts'
import type { KeptAnswers } from '../db/content/kept-answers.ts'
import { SHOWS_SEALS } from '../db/content/read-responses.ts'
import type { ResponseStatus } from '../db/content/response-rows.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { ByteBudget } from '../lib/bytes.ts'
import { type Ending, type TurnOutcome, writeEnding } from '../model/ending.ts'
import type { Problem } from '../model/problem.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import type { ResponsesEncoder } from '../protocols/responses/encoder.ts'
import type { Sink, SinkPhase, Turn, TurnEncoder } from './turn.ts'

export interface KeepDeps extends RecordingBounds, StoreDeps {
  readonly answers: Pick<KeptAnswers, 'keep' | 'forget'>
}

/** The last bytes of the answer, as they will be sent. */
interface WordsToKeep {
  say(): Buffer
  /** They have to be worked out anew. */
  forget(): void
}

type KeptTurn = Pick<Turn, 'requestId' | 'caller' | 'request' | 'sink' | 'claim'>

export const CONTENT_TYPES = { json: 'application/json', stream: 'text/event-stream; charset=utf-8' } as const

/**
 * Keeps the answer of a turn, for whoever repeats the request with its idempotency key and for whoever asks for the
 * response by its id: for both, for one of them, or, of most turns, for nobody. Nothing of it rejects.
 */
export class Keeping {
  readonly #answers: KeepDeps['answers']
  readonly #turn: KeptTurn
  readonly #voice: TurnEncoder
  readonly #recording: Recording | undefined
  readonly #stored: StoredResponse | undefined
  #stands: StoredAnswer = 'not-stored'
  /** Where the turn speaks: what is kept as it was said is recorded on the way. */
  readonly sink: Sink

  constructor(deps: KeepDeps, turn: KeptTurn, voice: TurnEncoder) {
    const { request, claim } = turn
    const isStored =
      request.protocol === 'responses' && voice.protocol === 'responses' && request.storedInput !== undefined
    const isRecorded = claim !== undefined || (isStored && request.delivery === 'stream')
    const recording = isRecorded ? createRecording(deps) : undefined
    this.#answers = deps.answers
    this.#turn = turn
    this.#voice = voice
    this.#recording = recording
    this.#stored = isStored
      ? createStoredResponse(deps, { ...turn, request, input: request.storedInput, voice, recording })
      : undefined
    this.sink = recording === undefined ? turn.sink : new RecordingSink(turn.sink, recording)
  }

  /** Whether what has to be there before the first word is; undefined where nothing has to. */
  get begun(): Promise<boolean> | undefined {
    return this.#stored?.begun
  }

  get keepsNothing(): boolean {
    return this.#recording === undefined && this.#stored === undefined
  }

  /**
   * The whole answer, before anything is charged for it: a charge without its answer would be money for nothing, an answer
   * without its charge is charged by recovery. Resolves to the ending with what whoever repeats the request will find.
   */
  async keep(ending: Ending, finalFrames: WordsToKeep): Promise<Ending> {
    const stored = this.#stored
    const isStream = this.#turn.request.delivery === 'stream'
    if (isStream) this.#recording?.close(finalFrames.say())
    // The voice has said its end, and can be asked for the response.
    else finalFrames.say()
    // In this order: whoever repeats the request gets the id, and what it stands for has to be there.
    this.#stands = (await stored?.keep(ending)) ?? 'not-stored'
    if (!isStream) {
      // A JSON answer that could not be stored still has the chance to say so.
      if (stored && this.#stands === 'not-stored' && this.#voice.protocol === 'responses') {
        this.#voice.encodeUnstored()
        finalFrames.forget()
      }
      this.#recording?.close(finalFrames.say())
    }
    return this.#turn.claim === undefined ? ending : { ...ending, kept: await this.#keepForRepetition(ending) }
  }

  async #keepForRepetition(ending: Ending): Promise<boolean> {
    // It is there once, with its response.
    if (this.#stands === 'as-sent') return true
    const { requestId, caller, request, claim } = this.#turn
    const body = this.#recording?.whole()
    if (claim === undefined || body === undefined) return false
    const head = { requestId, account: caller.accountId, status: 200, contentType: CONTENT_TYPES[request.delivery] }
    return this.#answers.keep({ ...head, body, facts: writeEnding(ending), expiresAt: claim.expiresAt })
  }

  /** The client was told that nothing came of it: nothing shall be found, and nothing charged for by recovery. */
  async forget(): Promise<void> {
    const repeated = this.#turn.claim && this.#answers.forget(this.#turn.requestId)
    await Promise.all([repeated, this.#stored?.forget()])
  }

  /** The turn has ended. What was stored whole stays as it is. */
  async end(outcome: TurnOutcome): Promise<void> {
    if (this.#stands === 'not-stored') await this.#stored?.end(outcome)
  }

  /** The turn is over, whatever came of it. */
  leave(): void {
    this.#recording?.drop()
  }
}

interface StoreDeps {
  readonly responses: StoredResponses
  readonly stateMs: number
  readonly now: () => number
}

/** `as-sent`: its stream, too, so that whoever repeats the request is given it again. */
type StoredAnswer = 'not-stored' | 'stored' | 'as-sent'

/** A response that its account may ask for by its id, while it runs and afterwards. Nothing of it rejects. */
interface StoredResponse {
  /**
   * Whether its row is there: before it is, nothing of a stream may be told. What is told only when it is whole, as JSON and
   * compaction are, waits for nothing.
   */
  readonly begun: Promise<boolean> | undefined
  /** The whole answer, before it is charged for. */
  keep(ending: Ending): Promise<StoredAnswer>
  /** It has ended, and no answer of it is kept. */
  end(outcome: TurnOutcome): Promise<void>
  /** It shall not be found. */
  forget(): Promise<void>
}

interface StorableTurn extends Pick<Turn, 'requestId' | 'caller' | 'claim'> {
  readonly request: ResponsesRequest
  /** Its `storedInput`. */
  readonly input: () => readonly Buffer[]
  readonly voice: ResponsesEncoder
  /** What is sent of a stream, for whoever takes it up again later. */
  readonly recording: Recording | undefined
}

/** A stream is stored from its beginning, so that whoever loses it can see what became of it; JSON when it is there. */
export function createStoredResponse(
  { responses, stateMs, now }: StoreDeps,
  { requestId, caller, claim, request, input, voice, recording }: StorableTurn,
): StoredResponse {
  const createdAt = now()
  const isStream = request.delivery === 'stream'
  const head = {
    ...{ id: voice.responseId, account: caller.accountId, requestId },
    ...{ createdAt, expiresAt: createdAt + stateMs, parent: request.previousResponseId },
  }
  // As long as its key is remembered.
  const isKeptLongEnough = claim !== undefined && head.expiresAt >= claim.expiresAt
  const shows = voice.showsSeals ? `"${SHOWS_SEALS}":true,` : ''
  /** Its items are put in their place when it is asked for. */
  const object = (status: ResponseStatus) => Buffer.from(`{${shows}${voice.withoutItems(status).slice(1)}`)
  // A JSON answer that goes on from another one keeps that one alive from here.
  const isBegun = isStream || request.previousResponseId !== undefined
  const begun = isBegun ? responses.begin({ ...head, object: object('in_progress') }) : Promise.resolve(true)
  const forget = async () => {
    await begun
    await responses.forget(voice.responseId, caller.accountId)
  }
  return {
    begun: isStream && request.compacts === undefined ? begun : undefined,
    forget,
    // What is written last is what stays: nothing may overtake the row of the beginning.
    async keep(ending) {
      await begun
      const status = voice.status() as 'completed' | 'incomplete' | 'failed'
      const events = isStream ? recording?.whole() : undefined
      const isAsSent = events !== undefined && isKeptLongEnough && (await isLogAsSent(events))
      const isStored = await responses.finish({
        ...head,
        ...{ status, object: object(status), input: input() },
        output: voice.storedItems().map((item) => Buffer.from(JSON.stringify(item))),
        // Of a JSON answer nobody knows the id before the answer is there: without it there is nothing to pay for.
        facts: isStream ? writeEnding(ending) : undefined,
        ...(events === undefined ? {} : { events, isAsSent }),
      })
      if (!isStored) return 'not-stored'
      return isAsSent ? 'as-sent' : 'stored'
    },
    async end(outcome) {
      // What was told as whole and could not be stored is as one that had to make room: it is not there.
      if (outcome === 'completed') return forget()
      if (!isBegun) return
      await begun
      const status = outcome === 'client_gone' ? 'cancelled' : 'failed'
      await responses.end(voice.responseId, caller.accountId, status, object(status))
    },
  }
}

/** An answer as it goes out, for whoever asks for it again. Copied, so that nothing of it keeps larger memory alive. */
export interface Recording {
  add(bytes: Buffer): void
  /** What it will end with, once that is known and before it is said. */
  close(ending: Buffer): void
  /** Throws when the answer ends otherwise than was recorded: what is given again would not be what was given. */
  check(ending: Buffer): void
  /** The whole of it; undefined when it became too large. */
  whole(): Buffer | undefined
  /** Forgets it, and gives its memory back. */
  drop(): void
}

export interface RecordingBounds {
  readonly answerBytesMax: number
  /** Shared by all recordings. */
  readonly budget: ByteBudget
}

const SLAB_BYTES = 16 * 1024

export function createRecording({ answerBytesMax, budget }: RecordingBounds): Recording {
  let slabs: Buffer[] = []
  let used = 0
  let taken = 0
  let size = 0
  let tooLarge = false
  let last: Buffer | undefined

  const drop = () => {
    budget.give(taken)
    slabs = []
    used = taken = size = 0
    tooLarge = true
  }
  const open = (bytes: number): boolean => {
    const slabBytes = Math.max(SLAB_BYTES, bytes)
    if (!budget.take(slabBytes)) return false
    taken += slabBytes
    slabs.push(Buffer.allocUnsafeSlow(slabBytes))
    used = 0
    return true
  }
  const add = (bytes: Buffer) => {
    if (tooLarge) return
    size += bytes.length
    if (size > answerBytesMax) return drop()
    let from = 0
    while (from < bytes.length) {
      const slab = slabs.at(-1)
      if (slab === undefined || used === slab.length) {
        if (!open(bytes.length - from)) return drop()
        continue
      }
      const copied = bytes.copy(slab, used, from)
      used += copied
      from += copied
    }
  }

  return {
    add,
    close(ending) {
      add(ending)
      last = ending
    },
    check(ending) {
      if (last !== undefined && !last.equals(ending)) throw new Error('An answer ended otherwise than it was kept')
    },
    whole() {
      if (tooLarge) return undefined
      return Buffer.concat(slabs, size)
    },
    drop,
  }
}

/**
 * A sink beside which the answer is recorded. A turn that goes on without its client takes the course through it that it
 * would have taken with the client there.
 */
export class RecordingSink implements Sink {
  readonly #sink: Sink
  readonly #recording: Recording
  #phase: SinkPhase = 'quiet'

  constructor(sink: Sink, recording: Recording) {
    this.#sink = sink
    this.#recording = recording
  }

  get phase(): SinkPhase {
    return this.#phase === 'quiet' ? this.#sink.phase : this.#phase
  }

  get disconnected(): boolean {
    return this.#sink.disconnected
  }

  announce(headers: Parameters<Sink['announce']>[0]): void {
    this.#sink.announce(headers)
  }

  onSilence(say: () => Buffer | undefined): void {
    this.#sink.onSilence(() => {
      const bytes = say()
      // A comment is no part of the answer; what the protocol says is.
      if (bytes !== undefined) this.#recording.add(bytes)
      return bytes
    })
  }

  write(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length > 0) this.#phase = 'body'
    this.#recording.add(bytes)
    return this.#sink.write(bytes)
  }

  end(bytes: Buffer): void {
    this.#recording.check(bytes)
    this.#phase = 'ended'
    this.#sink.end(bytes)
  }

  refuse(problem: Problem): void {
    this.#phase = 'ended'
    this.#sink.refuse(problem)
  }

  cut(): void {
    this.#phase = 'ended'
    this.#sink.cut()
  }

  onDisconnect(listener: () => void): () => void {
    return this.#sink.onDisconnect(listener)
  }
}
