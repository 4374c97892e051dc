import type { WordsRun } from '../alike-words.ts'
import type { Heard } from '../event-reader.ts'
import type { FrameSplitter } from '../sse/split-frames.ts'
import type { AnswerEnding } from './read-ending.ts'
import type { ItemStep } from './spoken-item.ts'

/** A lane's answer, read: whatever the lane speaks, its frames become steps. */
export interface StepSource {
  read(frame: Buffer): readonly ItemStep[]
  /** The frames that come next, each of which is the one step that the last one was, with other words; undefined for none. */
  readAlike(frames: FrameSplitter): WordsRun | undefined
  readonly heard: Heard
  /** Undefined until the lane has said that the answer is complete, or why it is not. */
  ending(): AnswerEnding | undefined
}
