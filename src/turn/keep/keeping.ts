import type { KeptAnswers } from '../../content/kept-answers.ts'
import { type Ending, type TurnOutcome, writeEnding } from '../../model/ending.ts'
import type { TurnVoice } from '../open-voice.ts'
import type { Sink } from '../sink.ts'
import type { Turn } from '../turn.ts'
import { createRecording, type Recording, type RecordingBounds } from './recording.ts'
import { RecordingSink } from './recording-sink.ts'
import { createStoredResponse, type StoreDeps, type StoredAnswer, type StoredResponse } from './stored-response.ts'

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
  readonly #voice: TurnVoice
  readonly #recording: Recording | undefined
  readonly #stored: StoredResponse | undefined
  #stands: StoredAnswer = 'not-stored'
  /** Where the turn speaks: what is kept as it was said is recorded on the way. */
  readonly sink: Sink

  constructor(deps: KeepDeps, turn: KeptTurn, voice: TurnVoice) {
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
  async keep(ending: Ending, lastWords: WordsToKeep): Promise<Ending> {
    const stored = this.#stored
    const isStream = this.#turn.request.delivery === 'stream'
    if (isStream) this.#recording?.close(lastWords.say())
    // The voice has said its end, and can be asked for the response.
    else lastWords.say()
    // In this order: whoever repeats the request gets the id, and what it stands for has to be there.
    this.#stands = (await stored?.keep(ending)) ?? 'not-stored'
    if (!isStream) {
      // A JSON answer that could not be stored still has the chance to say so.
      if (stored && this.#stands === 'not-stored' && this.#voice.protocol === 'responses') {
        this.#voice.tellUnstored()
        lastWords.forget()
      }
      this.#recording?.close(lastWords.say())
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
