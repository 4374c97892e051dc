import { isLogAsSent } from '../../content/event-log.ts'
import { SHOWS_SEALS } from '../../content/response-body.ts'
import type { ResponseStatus } from '../../content/response-rows.ts'
import type { StoredResponses } from '../../content/stored-responses.ts'
import { type Ending, type TurnOutcome, writeEnding } from '../../model/ending.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { ResponsesVoice } from '../../wire/responses/voice.ts'
import type { Turn } from '../turn.ts'
import type { Recording } from './recording.ts'

export interface StoreDeps {
  readonly responses: StoredResponses
  readonly stateMs: number
  readonly now: () => number
}

/** `as-sent`: its stream, too, so that whoever repeats the request is given it again. */
export type StoredAnswer = 'not-stored' | 'stored' | 'as-sent'

/** A response that its account may ask for by its id, while it runs and afterwards. Nothing of it rejects. */
export interface StoredResponse {
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
  readonly voice: ResponsesVoice
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
