import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { OnceTurn } from './once-turn.ts'
import type { Sink } from './sink.ts'

/** One request on its way: who asks for what, and where the answer goes. */
export interface TurnCall {
  readonly requestId: RequestId
  readonly caller: Caller
  readonly turn: TurnRequest
  readonly sink: Sink
  /** The items of this request alone, each as JSON: of a response, for whoever stores it. */
  readonly ownInput?: (() => readonly Buffer[]) | undefined
  /** Monotonic microseconds at which the request arrived. */
  readonly startedAt: number
  /** Only where it came with an idempotency key: its answer is kept, and nobody's going stops it. */
  readonly once?: OnceTurn
}
