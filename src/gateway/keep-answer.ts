import { isLogAsSent } from '../db/content/event-log.ts'
import type { KeptAnswers } from '../db/content/kept-answers.ts'
import { SHOWS_SEALS } from '../db/content/read-responses.ts'
import type { ResponseStatus } from '../db/content/response-rows.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { ByteBudget, SharedByteBudget } from '../lib/bytes.ts'
import { type Ending, type TurnOutcome, writeEnding } from '../model/ending.ts'
import type { Problem } from '../model/problem.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import type { ResponsesEncoder } from '../protocols/responses/encoder.ts'
import type { RunningResponses, Watch } from './running-responses.ts'
import type { Sink, SinkPhase, TurnEncoder, TurnInput } from './turn-input.ts'

export interface KeepServices extends StoreServices {
  /** The most of one answer that is recorded. */
  readonly answerBytesMax: number
  /** The memory of all recordings, and of answers that are sent again. */
  readonly budget: SharedByteBudget
  readonly answers: Pick<KeptAnswers, 'keep' | 'forget'>
  readonly live: LiveAnswers
}

/** The streams that run here with an idempotency key, by the scope of its claim: a repeated request may attach to one. */
export type LiveAnswers = Map<string, Recording>

/** The last bytes of the answer, as they will be sent. */
interface FramesToKeep {
  encode(): Buffer
  /** They have to be encoded again. */
  forget(): void
}

interface TurnOfAnswer {
  readonly onFollowed: () => void
  readonly cancel: (() => void) | undefined
}

type KeptTurn = Pick<TurnInput, 'requestId' | 'caller' | 'request' | 'sink' | 'claim'>

export const CONTENT_TYPES = { json: 'application/json', stream: 'text/event-stream; charset=utf-8' } as const

/**
 * Keeps the answer of a turn: for a repetition of the request with its idempotency key, as a response that can be fetched by its
 * id, or both. No method rejects.
 */
export class AnswerKeeper {
  readonly #answers: KeepServices['answers']
  readonly #turn: KeptTurn
  readonly #encoder: TurnEncoder
  readonly #recording: Recording | undefined
  readonly #stored: StoredResponse | undefined
  #kept: StoredAnswer = 'not-stored'
  #watch: Watch | undefined
  readonly #live: LiveAnswers
  /** The turn writes here, so that the answer is recorded. */
  readonly sink: Sink

  constructor(services: KeepServices, turn: KeptTurn, encoder: TurnEncoder) {
    const { request, claim } = turn
    const input = request.protocol === 'responses' ? request.storedInput : undefined
    const isRecorded = claim !== undefined || request.delivery === 'stream'
    const budget = services.budget.of(turn.caller.account)
    const recording = isRecorded ? createRecording({ answerBytesMax: services.answerBytesMax, budget }) : undefined
    this.#answers = services.answers
    this.#turn = turn
    this.#encoder = encoder
    this.#recording = recording
    if (request.protocol === 'responses' && encoder.protocol === 'responses' && input !== undefined)
      this.#stored = createStoredResponse(services, {
        requestId: turn.requestId,
        caller: turn.caller,
        claim,
        request,
        input,
        encoder,
        recording,
      })
    this.#live = services.live
    if (recording !== undefined && claim !== undefined && request.delivery === 'stream')
      services.live.set(claim.scope, recording)
    this.sink =
      recording === undefined ? turn.sink : new RecordingSink(turn.sink, recording, this.#stored !== undefined)
  }

  /** Whether the row is there that the first content waits for; undefined if it waits for none. */
  get begun(): Promise<boolean> | undefined {
    return this.#stored?.begun
  }

  /**
   * Keeps the complete answer before its charge: a charge without its answer would be money for nothing, and recovery charges an
   * answer without its charge. Resolves to the ending that is recorded.
   */
  async keep(ending: Ending, finalFrames: FramesToKeep): Promise<Ending> {
    const stored = this.#stored
    await this.#watch?.stop()
    const isStream = this.#turn.request.delivery === 'stream'
    if (isStream) this.#recording?.close(finalFrames.encode())
    // The encoder has the response once its end is encoded.
    else finalFrames.encode()
    // In this order: a repetition gets the id of the response, which must exist by then.
    this.#kept = (await stored?.keep(ending, this.#watch?.hasEvents === true)) ?? 'not-stored'
    if (!isStream) {
      // A JSON answer that could not be stored can still say so.
      if (stored && this.#kept === 'not-stored' && this.#encoder.protocol === 'responses') {
        this.#encoder.encodeUnstored()
        finalFrames.forget()
      }
      this.#recording?.close(finalFrames.encode())
    }
    const kept = this.#turn.claim !== undefined && (await this.#keepForRepetition(ending))
    if (!kept && !isStream && this.#isInBackground && this.#kept === 'not-stored') {
      // Nothing of it was seen, and it is nowhere. A late write must not give it away.
      await stored?.forget()
      return { ...ending, outcome: 'internal_error', owed: undefined }
    }
    return this.#turn.claim === undefined ? ending : { ...ending, kept }
  }

  get #isInBackground(): boolean {
    const { request } = this.#turn
    return request.protocol === 'responses' && request.inBackground
  }

  async #keepForRepetition(ending: Ending): Promise<boolean> {
    // It is stored once, with its response.
    if (this.#kept === 'as-sent') return true
    const { requestId, caller, request, claim } = this.#turn
    const body = this.#recording?.whole()
    if (claim === undefined || body === undefined) return false
    const head = { requestId, account: caller.accountId, status: 200, contentType: CONTENT_TYPES[request.delivery] }
    return this.#answers.keep({ ...head, body, facts: writeEnding(ending), expiresAt: claim.expiresAt })
  }

  /** The client got an error status: nothing may be found, and recovery may charge nothing. */
  async forget(): Promise<void> {
    const repeated = this.#turn.claim && this.#answers.forget(this.#turn.requestId)
    await Promise.all([repeated, this.#stored?.forget()])
  }

  /** The turn has ended. A complete stored answer stays as it is. */
  async end(outcome: TurnOutcome): Promise<void> {
    if (this.#kept === 'not-stored') await this.#stored?.end(outcome)
  }

  /**
   * From here to its end the events of a stored stream are stored as they come. `cancel` stops a turn in the background, and `onFollowed`
   * marks what another client gets that attaches.
   */
  watch(running: RunningResponses, { onFollowed, cancel }: TurnOfAnswer): void {
    this.#recording?.onFollowed(onFollowed)
    const { delivery } = this.#turn.request
    const stored = this.#stored
    const framesAfter = delivery === 'stream' ? this.#recording?.framesAfter : undefined
    if (stored === undefined || (framesAfter === undefined && cancel === undefined)) return
    const { id, account, isThere: begun } = stored
    this.#watch = running.watch({ id, account, begun, framesAfter, cancel })
  }

  /** Gives back the memory of the recording. */
  release(): void {
    void this.#watch?.stop()
    const { claim } = this.#turn
    if (claim !== undefined && this.#live.get(claim.scope) === this.#recording) this.#live.delete(claim.scope)
    this.#recording?.release()
  }
}

interface StoreServices {
  readonly responses: StoredResponses
  /** How long a stored response is kept. */
  readonly stateMs: number
  readonly now: () => number
}

/** `as-sent`: with its stream, so that a repetition gets the same bytes. `cancelled`: the client was told so, and it stays so. */
type StoredAnswer = 'not-stored' | 'stored' | 'as-sent' | 'cancelled'

interface StorableTurn extends Pick<TurnInput, 'requestId' | 'caller' | 'claim'> {
  readonly request: ResponsesRequest
  /** Its `storedInput`. */
  readonly input: () => readonly Buffer[]
  readonly encoder: ResponsesEncoder
  /** What was sent of a stream. */
  readonly recording: Recording | undefined
}

type StoredResponse = ReturnType<typeof createStoredResponse>

/**
 * A response that its account can fetch by its id. A stream is stored from its beginning, so that a client that loses it can see
 * its outcome; a JSON answer when it is complete. No method rejects.
 */
export function createStoredResponse(
  { responses, stateMs, now }: StoreServices,
  { requestId, caller, claim, request, input, encoder, recording }: StorableTurn,
) {
  const createdAt = now()
  const isStream = request.delivery === 'stream'
  const { responseId } = encoder
  const head = {
    id: responseId,
    account: caller.accountId,
    person: caller.person,
    requestId,
    createdAt,
    expiresAt: createdAt + stateMs,
    parent: request.previousResponseId,
  }
  // As long as its idempotency key is remembered.
  const isKeptLongEnough = claim !== undefined && head.expiresAt >= claim.expiresAt
  const shows = encoder.showsSeals ? `"${SHOWS_SEALS}":true,` : ''
  /** Its items are inserted when it is fetched. */
  const object = (status: ResponseStatus) => Buffer.from(`{${shows}${encoder.withoutItems(status).slice(1)}`)
  // A JSON answer that continues another response keeps that one alive from here on.
  const isBegun = isStream || request.inBackground || request.previousResponseId !== undefined
  const begun = isBegun ? responses.begin({ ...head, object: object('in_progress') }) : Promise.resolve(true)
  // Every method awaits `begun` first: no later write may overtake the first row.
  const forget = async (): Promise<void> => {
    await begun
    await responses.forget(responseId, caller.accountId)
  }
  return {
    ...{ id: responseId, account: caller.accountId, isThere: begun },
    /**
     * Whether its row is there, which the first content of a stream waits for, and the answer of a turn in the background. JSON and compaction
     * wait for nothing.
     */
    begun: request.inBackground || (isStream && request.compacts === undefined) ? begun : undefined,
    /** Removes the response. */
    forget,
    /** Stores the complete answer before its charge. */
    async keep(ending: Ending, hasEvents: boolean): Promise<StoredAnswer> {
      await begun
      const status = encoder.status() as 'completed' | 'incomplete' | 'failed'
      const events = isStream ? recording?.whole() : undefined
      const isAsSent = events !== undefined && isKeptLongEnough && (await isLogAsSent(events))
      const isStored = await responses.finish({
        ...head,
        ...{ status, object: object(status), input: input() },
        output: encoder.storedItems().map((item) => Buffer.from(JSON.stringify(item))),
        // The id of a JSON answer is unknown before the answer is sent: recovery has nothing to charge.
        facts: isStream || request.inBackground ? writeEnding(ending) : undefined,
        ...(events === undefined ? {} : { events, isAsSent }),
        hasEvents,
      })
      if (!isStored) {
        const isCancelled = request.inBackground && (await responses.isCancelled(caller.accountId, responseId))
        return isCancelled ? 'cancelled' : 'not-stored'
      }
      return isAsSent ? 'as-sent' : 'stored'
    },
    /** Ends a response whose answer is not kept. */
    async end(outcome: TurnOutcome): Promise<void> {
      // A complete answer that could not be stored is removed, like one that had to make room.
      if (outcome === 'completed') return forget()
      if (!isBegun) return
      await begun
      const status = outcome === 'client_gone' ? 'cancelled' : 'failed'
      await responses.end(responseId, caller.accountId, status, object(status))
    },
  }
}

interface RecordingBounds {
  readonly answerBytesMax: number
  /** Of the account. */
  readonly budget: ByteBudget
}

const SLAB_BYTES = 16 * 1024
const FRAME_END = '\n\n'
/** A reader that attaches late gets what is there in such pieces. */
const FOLLOWED_BYTES = 64 * 1024
/** Of one answer. Each takes a slot of the server, and keeps the recording. */
const FOLLOWERS_MAX = 16

export type Recording = ReturnType<typeof createRecording>

/** The bytes of an answer as it is sent, copied so that they keep no larger memory alive. */
export function createRecording({ answerBytesMax, budget }: RecordingBounds) {
  let slabs: Buffer[] = []
  let used = 0
  let taken = 0
  let size = 0
  let tooLarge = false
  let last: Buffer | undefined
  /** How many of the bytes were sent: the end is recorded before it may be. */
  let sent = 0
  let isEnded = false
  let followers = 0
  let followed: (() => void) | undefined
  let isReleased = false
  let waiting: (() => void)[] = []

  const drop = () => {
    budget.give(taken)
    slabs = []
    used = taken = size = 0
    tooLarge = true
  }
  const wake = () => {
    const woken = waiting
    waiting = []
    for (const each of woken) each()
  }
  const openSlab = (bytes: number): boolean => {
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
        if (!openSlab(bytes.length - from)) return drop()
        continue
      }
      const copied = bytes.copy(slab, used, from)
      used += copied
      from += copied
    }
  }

  const bytesAfter = (bytes: number, bytesMax: number): Buffer => {
    const pieces: Buffer[] = []
    const until = Math.min(sent, bytes + bytesMax)
    let at = 0
    for (const slab of slabs) {
      const end = Math.min(at + slab.length, until)
      if (end > bytes) pieces.push(slab.subarray(Math.max(0, bytes - at), end - at))
      at += slab.length
      if (at >= until) break
    }
    return Buffer.concat(pieces)
  }

  return {
    /** Adds what is sent. */
    add(bytes: Buffer): void {
      add(bytes)
      sent = size
      if (waiting.length > 0) wake()
    },
    /** Adds the end before it is sent. */
    close(end: Buffer): void {
      add(end)
      last = end
    },
    /** The end is sent. Throws when it is another one than was recorded. */
    end(bytes: Buffer): void {
      if (last === undefined) add(bytes)
      else if (!last.equals(bytes)) throw new Error('An answer ended with other bytes than were kept')
      sent = size
      isEnded = true
      wake()
    },
    get isFollowed(): boolean {
      return followers > 0
    },
    onFollowed(listener: () => void): void {
      followed = listener
    },
    /** Another client reads what is sent, as it is sent. Undefined when the turn is over, or has all the readers that it may have. */
    follow(): Follower | undefined {
      if (isReleased || tooLarge || followers >= FOLLOWERS_MAX) return undefined
      followers += 1
      followed?.()
      let at = 0
      return {
        /** Undefined at its end; throws where the answer ended without one, or was too large to be recorded. */
        async next(client) {
          for (;;) {
            if (tooLarge || (isReleased && !isEnded)) throw new Error('The answer that was followed has no end')
            const bytes = bytesAfter(at, FOLLOWED_BYTES)
            at += bytes.length
            if (bytes.length > 0) return bytes
            if (isEnded) return undefined
            await new Promise<void>((resolve) => {
              waiting.push(resolve)
              client.onDisconnect(resolve)
            })
            if (client.disconnected) return undefined
          }
        },
        leave() {
          followers -= 1
          if (followers === 0 && isReleased) drop()
        },
      }
    },
    /** The whole frames behind the first so many bytes. */
    framesAfter(bytes: number): Buffer {
      const joined = bytesAfter(bytes, Number.POSITIVE_INFINITY)
      const end = joined.lastIndexOf(FRAME_END)
      return joined.subarray(0, end === -1 ? 0 : end + FRAME_END.length)
    },
    /** The whole answer; undefined when it became too large. */
    whole: (): Buffer | undefined => (tooLarge ? undefined : Buffer.concat(slabs, size)),
    /** The turn is over. Gives the memory back, when those who follow have what they need. */
    release(): void {
      isReleased = true
      wake()
      if (followers === 0) drop()
    },
  }
}

export interface Follower {
  next(client: Pick<Sink, 'disconnected' | 'onDisconnect'>): Promise<Buffer | undefined>
  leave(): void
}

/** Records what is written. Its phase does not depend on the client, because the turn goes on after a disconnect. */
export class RecordingSink implements Sink {
  readonly #sink: Sink
  readonly #recording: Recording
  readonly #isStored: boolean
  #phase: SinkPhase = 'quiet'

  /** `isStored`: its events are stored as they come, where every reader of the response finds them. */
  constructor(sink: Sink, recording: Recording, isStored: boolean) {
    this.#sink = sink
    this.#recording = recording
    this.#isStored = isStored
  }

  get phase(): SinkPhase {
    return this.#phase === 'quiet' ? this.#sink.phase : this.#phase
  }

  get disconnected(): boolean {
    return this.#sink.disconnected
  }

  get isRead(): boolean {
    return !this.#sink.disconnected || this.#isStored || this.#recording.isFollowed
  }

  announce(headers: Parameters<Sink['announce']>[0]): void {
    this.#sink.announce(headers)
  }

  onSilence(keepAlive: () => Buffer | undefined): void {
    this.#sink.onSilence(() => {
      const bytes = keepAlive()
      // Comments of the sink are not part of the answer.
      if (bytes !== undefined) this.#recording.add(bytes)
      return bytes
    })
  }

  write(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length > 0) this.#phase = 'body'
    this.#recording.add(bytes)
    return this.#sink.write(bytes)
  }

  accept(bytes: Buffer): void {
    this.#phase = 'body'
    this.#sink.accept(bytes)
  }

  end(bytes: Buffer): void {
    this.#recording.end(bytes)
    this.#phase = 'ended'
    this.#sink.end(bytes)
  }

  refuse(problem: Problem): void {
    this.#phase = 'ended'
    this.#sink.refuse(problem)
  }

  destroy(): void {
    this.#phase = 'ended'
    this.#sink.destroy()
  }

  onDisconnect(listener: () => void): void {
    this.#sink.onDisconnect(listener)
  }
}
