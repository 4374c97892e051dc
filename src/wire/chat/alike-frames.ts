import type { Fields } from '../../lib/is-object.ts'
import { PATTERNS_IN_VAIN_MAX } from '../sse/frame-literals.ts'
import type { FrameSplitter } from '../sse/split-frames.ts'
import { type ChunkPattern, learnChunkPattern } from './chunk-pattern.ts'
import type { ModelRenamer, RenameWay } from './rename-model.ts'

/** The frames that come next in a stream and differ from the last one only in their words: they need not be parsed. */
export interface AlikeFrames {
  /** From a frame that was read as `chunk`, with so many bytes of words in it, and changed in no way but its name. */
  learn(way: KnownWay, read: { readonly frame: Buffer; readonly chunk: Fields; readonly words: number }): void
  /** Until the next one is learned, no frame is like another. */
  forget(): void
  /** All of them that are there, as one piece for the client; undefined for none. */
  take(frames: FrameSplitter): AlikeRun | undefined
}

interface AlikeRun {
  readonly bytes: Buffer
  /** Bytes of their words. */
  readonly words: number
  readonly frames: number
}

type KnownWay = Exclude<RenameWay, 'anew'>

export function createAlikeFrames(rename: ModelRenamer): AlikeFrames {
  let known: { readonly pattern: ChunkPattern; readonly way: KnownWay } | undefined
  let patternsInVain = 0

  return {
    learn(way, { frame, chunk, words }) {
      if (patternsInVain >= PATTERNS_IN_VAIN_MAX) return
      patternsInVain++
      const pattern = learnChunkPattern(frame, chunk, words)
      if (pattern) known = { pattern, way }
    },
    forget() {
      known = undefined
    },
    take(frames) {
      if (known === undefined) return undefined
      const { pattern, way } = known
      let words = 0
      let count = 0
      const alike = frames.take((bytes, from) => {
        let end = from
        for (let next = pattern.match(bytes, end); next !== -1; next = pattern.match(bytes, end)) {
          end = next
          words += pattern.words
          if (pattern.words > 0) count += 1
        }
        return end
      })
      if (!alike) return undefined
      patternsInVain = 0
      return { bytes: rename.apply(way, alike), words, frames: count }
    },
  }
}
