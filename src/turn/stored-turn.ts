import { SHOWS_SEALS } from '../content/response-body.ts'
import type { ResponseStatus } from '../content/response-rows.ts'
import type { StoredResponses } from '../content/stored-responses.ts'
import { writeKeptFacts } from '../ledger/kept-facts.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import { SEALED_REASONING } from '../wire/responses/dialects.ts'
import type { ResponsesVoice } from '../wire/responses/voice.ts'
import type { Keeper } from './keeper.ts'
import { createRecording, type Recording, type RecordingBounds } from './recording.ts'
import type { TurnCall } from './turn-call.ts'
import type { TurnVoice } from './turn-voice.ts'

/** A response that its account may ask for by its id, while it runs and afterwards. */
export interface StoredTurn extends Keeper {
  /** Whether its row is there: before it is, nothing may be told of the response. */
  readonly begun: Promise<boolean>
  /** What is sent of a stream, for whoever takes it up again later. */
  readonly recording: Recording | undefined
  /** It has ended, and no answer of it is kept. Never rejects. */
  end(status: 'failed' | 'cancelled'): Promise<void>
  /** The turn is over, whatever came of it. */
  leave(): void
}

export interface StoreDeps extends RecordingBounds {
  readonly responses: StoredResponses
  readonly stateMs: number
  readonly now: () => number
}

/** Of a request that wants to be stored, where anything is. */
export function storeTurn(deps: StoreDeps, call: TurnCall, voice: TurnVoice): StoredTurn | undefined {
  const { turn } = call
  const isStorable = turn.protocol === 'responses' && voice.protocol === 'responses'
  return isStorable && turn.store ? createStoredTurn(deps, { call, turn, voice }) : undefined
}

interface StorableTurn {
  readonly call: TurnCall
  readonly turn: ResponsesRequest
  readonly voice: ResponsesVoice
}

const asksForSeals = ({ fields: { include } }: ResponsesRequest): boolean =>
  Array.isArray(include) && include.includes(SEALED_REASONING)

/** A stream is stored from its beginning, so that whoever loses it can see what became of it; JSON when it is there. */
function createStoredTurn(deps: StoreDeps, { call, turn, voice }: StorableTurn): StoredTurn {
  const { responses, stateMs, now } = deps
  const { requestId, caller, ownInput } = call
  const createdAt = now()
  const isStream = turn.delivery === 'stream'
  // With an idempotency key the stream is recorded already.
  const ownsRecording = isStream && call.once === undefined
  const recording = ownsRecording ? createRecording(deps) : isStream ? call.once?.recording : undefined
  const head = {
    ...{ id: voice.responseId, account: caller.account, requestId },
    ...{ createdAt, expiresAt: createdAt + stateMs, parent: turn.previousResponseId },
  }
  const shows = asksForSeals(turn) ? `"${SHOWS_SEALS}":true,` : ''
  /** Its items are put in their place when it is asked for. */
  const object = (status: ResponseStatus) => Buffer.from(`{${shows}${voice.withoutItems(status).slice(1)}`)
  // A JSON answer that goes on from another one keeps that one alive from here.
  const isBegun = isStream || turn.previousResponseId !== undefined
  const begun = isBegun ? responses.begin({ ...head, object: object('in_progress') }) : Promise.resolve(true)
  return {
    begun,
    recording,
    // What is written last is what stays: nothing may overtake the row of the beginning.
    async keep(facts) {
      await begun
      const status = voice.status() as 'completed' | 'incomplete' | 'failed'
      const events = recording?.whole()
      return responses.finish({
        ...head,
        ...{ status, object: object(status), input: ownInput?.() ?? [] },
        output: voice.storedItems().map((item) => Buffer.from(JSON.stringify(item))),
        // Of a JSON answer nobody knows the id before the answer is there: without it there is nothing to pay for.
        facts: isStream ? writeKeptFacts(facts) : undefined,
        ...(events === undefined ? {} : { events }),
      })
    },
    async end(status) {
      if (!isBegun) return
      await begun
      await responses.end(voice.responseId, caller.account, status, object(status))
    },
    async forget() {
      await begun
      await responses.forget(voice.responseId, caller.account)
    },
    leave() {
      if (ownsRecording) recording?.drop()
    },
  }
}
