import type { Compacted } from '../model/compaction.ts'
import type { TurnEvent } from '../model/event.ts'
import type { InputUsage, Usage } from '../model/usage.ts'
import type { MintIds } from './mint-ids.ts'
import type { UpstreamSaid } from './refusals/provider-error.ts'
import type { WordsRun } from './sse/alike-words.ts'
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

/** Whom it listens to, and what it needs for that. */
export interface ReaderOptions<Dialect> {
  readonly dialect: Dialect
  readonly origin: string
  readonly mint: MintIds
}

/** What has been learned so far of a stream that a lane sends. */
export interface Heard {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** What it has counted of its input before the output: all there is of its counts in an answer that breaks off. */
  inputCounted: InputUsage | undefined
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
  inputCounted: undefined,
  outputBytes: 0,
  heldBytes: 0,
  finished: false,
  done: false,
  error: undefined,
  garbled: false,
})

/** Of one answer: some models make a dozen at once. Who sends more is filling our memory, and our client's. */
export const CALLS_MAX = 4096

/** Listens to a lane that was asked to make a conversation short. */
export interface CompactionReader {
  read(frame: Buffer): void
  /** Nothing of it has been handed on before the whole is there. */
  readonly heard: Heard
  /** Only after `heard.finished`, without an error. */
  compacted(): Compacted
}
