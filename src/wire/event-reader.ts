import type { TurnEvent } from '../model/event.ts'
import type { Usage } from '../model/usage.ts'
import type { WordsRun } from './alike-words.ts'
import type { UpstreamSaid } from './provider-error.ts'
import type { FrameSplitter } from './sse/split-frames.ts'

/** A lane's language, read: the frames of one streamed answer become events. */
export interface EventReader {
  /** One whole frame. What is no event (comments, pings, what nobody knows) gives none. */
  read(frame: Buffer): readonly TurnEvent[]
  /**
   * The frames that come next, each of which gives the one event that the last one gave, with other words; undefined for
   * none. What is not read here is read one by one, and means the same.
   */
  readAlike(frames: FrameSplitter): WordsRun | undefined
  readonly heard: Heard
}

/** What has been learned so far of a stream that a lane sends. */
export interface Heard {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** Bytes of text, reasoning and tool arguments that were produced: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Of those, how many wait here for their turn and have not been handed on. */
  heldBytes: number
  /** The lane has said why the answer ends; its counts may still come. */
  finished: boolean
  /** The lane has said that nothing more comes. */
  done: boolean
  /** The lane's own error inside the stream. */
  error: UpstreamSaid | undefined
  /** Something came that is not the lane's protocol. */
  garbled: boolean
}

export const nothingHeard = (): Heard => ({
  usage: undefined,
  outputBytes: 0,
  heldBytes: 0,
  finished: false,
  done: false,
  error: undefined,
  garbled: false,
})
