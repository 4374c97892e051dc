import type { Effort } from '../model/effort.ts'
import type { Delivery } from '../model/turn.ts'
import type { ToolNames } from './tool-names.ts'

/** What a translated request has to say to a lane besides the conversation. */
export interface LaneTarget<Dialect> {
  readonly model: string
  /** Whose seals it can open. */
  readonly origin: string
  readonly effort: Effort | undefined
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  readonly dialect: Dialect
  readonly delivery: Delivery
}

/** A conversation in a lane's words. */
export interface WrittenRequest {
  readonly body: Buffer
  /** What of the request this lane does not get, by the names that the client knows. */
  readonly leftOut: readonly string[]
  /** For the way back. */
  readonly tools: ToolNames
}
