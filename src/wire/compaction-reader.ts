import type { Compacted } from '../model/compaction.ts'
import type { Heard } from './event-reader.ts'

/** Listens to a lane that was asked to make a conversation short. */
export interface CompactionReader {
  read(frame: Buffer): void
  /** Nothing of it has been handed on before the whole is there. */
  readonly heard: Heard
  /** Only after `heard.finished`, without an error. */
  compacted(): Compacted
}
