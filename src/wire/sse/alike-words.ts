import { textOfLatin1 } from '../json/strings.ts'
import { PATTERNS_IN_VAIN_MAX } from './frame-literals.ts'
import type { FrameSplitter } from './split-frames.ts'
import { learnWordsPattern, type WordsPattern, type WordsPlace } from './words-pattern.ts'

/** What several frames say that mean the same as one before them, with other words. */
export interface WordsRun {
  /**
   * The words of each as the inside of a JSON string, as it would be written here, a character for each byte of UTF-8: so
   * they can be put between bytes that were prepared, and all of it made one Buffer.
   */
  readonly pieces: readonly string[]
  /** All of them together, as text and counted in bytes. */
  readonly text: string
  readonly textBytes: number
}

/** Knows the frames that come next in a stream and differ from the last one only in their words: they need not be parsed. */
interface AlikeWords {
  /** From a frame that was read, and meant nothing but these words. */
  learn(frame: Buffer, words: string): void
  /** Until the next one is learned, no frame is like another. */
  forget(): void
  /** All of them that are there; undefined for none. */
  take(frames: FrameSplitter): WordsRun | undefined
}

export function createAlikeWords(place: WordsPlace): AlikeWords {
  let pattern: WordsPattern | undefined
  let patternsInVain = 0
  return {
    learn(frame, words) {
      if (patternsInVain >= PATTERNS_IN_VAIN_MAX) return
      patternsInVain++
      pattern = learnWordsPattern(place, frame, words)
    },
    forget() {
      pattern = undefined
    },
    take(frames) {
      const run = pattern && takeRun(pattern, frames)
      if (run !== undefined) patternsInVain = 0
      return run
    },
  }
}

function takeRun(pattern: WordsPattern, frames: FrameSplitter): WordsRun | undefined {
  const { matched } = pattern
  const starts: number[] = []
  const ends: number[] = []
  const rewritten: (string | undefined)[] = []
  let textBytes = 0
  const taken = frames.take((bytes, from) => {
    let end = from
    for (let next = pattern.match(bytes, end); next !== -1; next = pattern.match(bytes, end)) {
      starts.push(matched.start - from)
      ends.push(matched.end - from)
      rewritten.push(matched.written)
      textBytes += matched.textBytes
      end = next
    }
    return end
  })
  if (taken === undefined) return undefined
  const latin1 = taken.toString('latin1')
  const pieces = starts.map((start, at) => rewritten[at] ?? latin1.slice(start, ends[at]))
  return { pieces, text: textOfLatin1(pieces.length === 1 ? pieces[0]! : pieces.join('')), textBytes }
}
