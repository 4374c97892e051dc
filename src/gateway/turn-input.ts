import type { ClaimRequest } from '../ledger/state/turns.ts'
import type { Networks } from '../lib/network.ts'
import type { Caller, ClientProgram } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import type { Problem } from '../model/problem.ts'
import type { Run } from '../model/run.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { ChatEncoder } from '../protocols/chat/encoder.ts'
import type { ResponsesEncoder } from '../protocols/responses/encoder.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'

/** A request as the HTTP edge hands it over. */
export interface TurnInput {
  readonly requestId: RequestId
  readonly caller: Caller
  /** Why a caller that has changed since the request arrived may not call from the client's address. */
  readonly refuseAddress?: ((networks: Networks) => Problem | undefined) | undefined
  /** For Responses, and undefined for all but the few client programs that get some errors in another form. */
  readonly program?: ClientProgram | undefined
  readonly request: TurnRequest
  readonly sink: Sink
  /** Monotonic microseconds at which the request arrived. */
  readonly startedAt: number
  /** The first request with its idempotency key: it runs once, its answer is kept, and a disconnect does not stop it. */
  readonly claim?: ClaimRequest | undefined
  /** Of the client, for the receipt. */
  readonly tags?: string | undefined
  /** Whose budget the turn draws on too. */
  readonly run?: Run | undefined
  /** Undefined unless requests are traced. */
  readonly trace?: RequestTrace | undefined
  /** Called at the first content of a large request with the bytes that it keeps from then on. */
  readonly onContent?: ((bytesKept: number) => void) | undefined
}

/**
 * Where an answer goes. The gateway decides what is written and when the end may be written; the sink only writes.
 *
 * quiet → head (status and headers are sent, perhaps keep-alives) → body (the first content is sent) → ended
 */
export type SinkPhase = 'quiet' | 'head' | 'body' | 'ended'

export interface Sink {
  readonly phase: SinkPhase
  /** The client's connection is closed; nothing written from now on arrives. */
  readonly disconnected: boolean
  /** What is written reaches its client, or one that follows the answer: a charge after a crash covers it. */
  readonly isRead: boolean
  /** Adds headers to the head, or removes those that are undefined; without effect once the head is sent. */
  announce(headers: Readonly<Record<string, string | undefined>>): void
  /** What is written after a silence; undefined: a comment. JSON answers have no silence. */
  onSilence(keepAlive: () => Buffer | undefined): void
  /** Content. Backpressure: returns a promise while the client's socket is full; await it before reading the provider. */
  write(bytes: Buffer): Promise<void> | undefined
  /** The whole answer to the client of a turn in the background. What comes later is for its store alone. */
  accept(bytes: Buffer): void
  /** The last bytes, or the whole JSON body, and the regular end. */
  end(bytes: Buffer): void
  /** An error as status and body. Only while `quiet`; afterwards the encoder writes the failure and `end` sends it. */
  refuse(problem: Problem): void
  /** Breaks the connection without an end, so that the client does not take the answer for complete. */
  destroy(): void
  /** Calls back once when the client disconnects. One listens at a time. */
  onDisconnect(listener: () => void): void
}

export type TurnEncoder = ChatEncoder | ResponsesEncoder
