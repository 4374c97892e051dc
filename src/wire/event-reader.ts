import type { Compacted } from '../model/compaction.ts'
import type { TurnEvent } from '../model/event.ts'
import type { Heard } from './heard.ts'
import type { MintIds } from './mint-ids.ts'
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
