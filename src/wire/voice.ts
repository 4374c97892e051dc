import type { Problem } from '../model/problem.ts'
import type { Carrier } from './carrier.ts'
import type { EventReader } from './event-reader.ts'

/**
 * A client's language, spoken: one answer from its first byte to its last. It is opened once per turn and outlives a lane
 * that failed before any content: the ids and numbers that a client has seen go on.
 */
export interface Voice {
  /** What breaks a silence; undefined where a comment will do. Called at any moment before the end. */
  keepAlive(): Buffer | undefined
  /** Writes another protocol's answer, event by event; whatever an earlier carrier has held back is forgotten. */
  translate(reader: EventReader): Carrier
  /** How it is said that the answer has failed, once its head has gone: the last bytes of the stream. */
  fail(problem: Problem): Buffer
}
