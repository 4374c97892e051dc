import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { Sink } from './sink.ts'

/** One request on its way: who asks for what, and where the answer goes. */
export interface TurnCall {
  readonly requestId: RequestId
  readonly caller: Caller
  readonly turn: TurnRequest
  readonly sink: Sink
  /** Monotonic microseconds at which the request arrived. */
  readonly startedAt: number
}
