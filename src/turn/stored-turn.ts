import type { ResponseStatus } from '../content/response-rows.ts'
import type { StoredResponses } from '../content/stored-responses.ts'
import { type KeptFacts, writeKeptFacts } from '../ledger/kept-facts.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import type { ResponsesVoice } from '../wire/responses/voice.ts'
import { createRecording, type Recording, type RecordingBounds } from './recording.ts'
import type { TurnCall } from './turn-call.ts'
import type { TurnVoice } from './turn-voice.ts'

/** A response that its account may ask for by its id, while it runs and afterwards. */
export interface StoredTurn {
  /** Whether the row of a stream is there: before it is, nothing may be told of the response. */
  readonly begun: Promise<boolean>
  /** What is sent of a stream, for whoever takes it up again later. */
  readonly recording: Recording | undefined
  /** Its answer as it stands, which ends with these bytes, before it is charged for. Never rejects. */
  keep(last: Buffer, facts: KeptFacts): Promise<void>
  /** It has ended without an answer. Does nothing where there is one. Never rejects. */
  end(status: 'failed' | 'cancelled'): Promise<void>
  /** Its answer was not given, and must not be charged for. */
  forget(): Promise<void>
  /** The turn is over, whatever came of it. */
  leave(): void
}

export interface StoreDeps extends RecordingBounds {
  readonly responses: StoredResponses
  readonly keptMs: number
  readonly now: () => number
}

/** Of a request that wants to be stored, where anything is. */
export function storeTurn(deps: StoreDeps, call: TurnCall, voice: TurnVoice): StoredTurn | undefined {
  const { turn } = call
  const isStorable = turn.protocol === 'responses' && voice.protocol === 'responses'
  return isStorable && turn.store && deps.responses.keeps ? createStoredTurn(deps, { call, turn, voice }) : undefined
}

interface StorableTurn {
  readonly call: TurnCall
  readonly turn: ResponsesRequest
  readonly voice: ResponsesVoice
}

/** A stream is stored from its beginning, so that whoever loses it can see what became of it; JSON when it is there. */
function createStoredTurn(deps: StoreDeps, { call, turn, voice }: StorableTurn): StoredTurn {
  const { responses, keptMs, now } = deps
  const { requestId, caller, ownInput } = call
  const createdAt = now()
  const isStream = turn.delivery === 'stream'
  // With an idempotency key the stream is recorded already.
  const ownsRecording = call.once === undefined
  const recording = !isStream ? undefined : (call.once?.recording ?? createRecording(deps))
  let isKept = false
  const head = () => ({
    ...{ id: voice.responseId, account: caller.account, requestId },
    ...{ createdAt, expiresAt: createdAt + keptMs, parent: turn.previousResponseId },
  })
  /** Its items are put in their place when it is asked for. */
  const object = (status: ResponseStatus) => Buffer.from(JSON.stringify({ ...voice.response(), status, output: [] }))
  // A JSON answer that goes on from another one keeps that one alive from here.
  const isBegun = isStream || turn.previousResponseId !== undefined
  const begun = isBegun ? responses.begin({ ...head(), object: object('in_progress') }) : Promise.resolve(true)
  return {
    begun,
    recording,
    // What is written last is what stays: nothing may overtake the row of the beginning.
    async keep(last, facts) {
      await begun
      if (ownsRecording) recording?.close(last)
      const output = voice.storedItems().map((item) => Buffer.from(JSON.stringify(item)))
      const events = recording?.whole()
      const status = statusOf(voice)
      isKept = await responses.finish({
        ...head(),
        ...{ status, object: object(status), input: ownInput?.() ?? [], output, facts: writeKeptFacts(facts) },
        ...(events === undefined ? {} : { events }),
      })
    },
    async end(status) {
      if (isKept || !isBegun) return
      await begun
      await responses.end(voice.responseId, caller.account, status, object(status))
    },
    async forget() {
      isKept = false
      await begun
      await responses.forget(voice.responseId, caller.account)
    },
    leave() {
      if (ownsRecording) recording?.drop()
    },
  }
}

const statusOf = (voice: ResponsesVoice): 'completed' | 'incomplete' | 'failed' =>
  voice.response().status as 'completed' | 'incomplete' | 'failed'
