import { type Fields, isObject } from '../../lib/types.ts'
import { endOfPlainText, endOfString, isQuote, measureString, tryParse } from '../json/strings.ts'
import { afterLiteral, frameFilled, PATTERNS_IN_VAIN_MAX } from '../sse/frame-template.ts'
import type { FrameSplitter } from '../sse/split-frames.ts'
import type { ModelRename, ModelRenamer } from './chunk.ts'

/** The frames that come next in a stream and differ from the last one only in their words: they need not be parsed. */
export interface FrameTemplates {
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

type KnownWay = Exclude<ModelRename, 'anew'>

export function createFrameTemplates(rename: ModelRenamer): FrameTemplates {
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

/**
 * What the frames of a stream have in common: all their bytes but a few strings. Whoever has read one of them whole, and
 * changed nothing in it, need not parse the next: it means the same, with other words.
 */
interface ChunkPattern {
  /** Where the frame ends that begins at `from`; -1 when it is not of this pattern, or not all there. */
  match(bytes: Buffer, from: number): number
  /** Bytes of words in the frame that was matched last. */
  readonly words: number
}

/** The strings that may differ. `"` is escaped inside strings, so a member's name can only be found where it is one. */
const GAPS = /"(?:content|refusal|reasoning_content|reasoning|arguments|obfuscation)" ?: ?"/g

/** A pattern is proved with these in the gaps: whoever reads it must find each where the frame had words. */
const stopgap = (gap: number): string => `stopgap ${gap}`

/**
 * The pattern of a frame that was read as `chunk`, with `words` bytes of words in it; undefined where no other frame can
 * be known by it. It is proved when the first frame fits: many are learned that no other frame is like.
 */
export function learnChunkPattern(frame: Buffer, chunk: Fields, words: number): ChunkPattern | undefined {
  const strings = stringsOf(chunk)
  const cut = strings && cutAtGaps(frame)
  if (!cut) return undefined
  const { literals, values } = cut
  let proved: 'no' | 'yes' | 'wrong' = 'no'
  let fixedWords = 0
  let counts: readonly boolean[] = []

  const prove = (): boolean => {
    const places = placesOfGaps(literals, values, strings)
    proved = places === undefined ? 'wrong' : 'yes'
    counts = places?.map((place) => place !== PADDING) ?? []
    const varying = values.map((value, at) => (counts[at] ? Buffer.byteLength(String(value)) : 0))
    fixedWords = words - varying.reduce((sum, bytes) => sum + bytes, 0)
    return proved === 'yes'
  }
  const match = (bytes: Buffer, from: number): number => {
    if (proved === 'wrong') return -1
    let at = afterLiteral(bytes, from, literals[0]!)
    let sum = 0
    for (let gap = 0; at !== -1 && gap < values.length; gap++) {
      let end = endOfPlainText(bytes, at)
      let measured: number | undefined = end - at
      // Nearly all that models write stands for itself; the rest is measured with more care.
      if (!isQuote(bytes[end])) {
        end = endOfString(bytes, end)
        measured = end === -1 ? undefined : measureString(bytes, at, end)
      }
      if (measured === undefined) return -1
      if (proved === 'no' || counts[gap]) sum += measured
      at = afterLiteral(bytes, end, literals[gap + 1]!)
    }
    if (at === -1) return -1
    if (proved === 'no') return prove() ? match(bytes, from) : -1
    pattern.words = fixedWords + sum
    return at
  }
  const pattern = { match, words: 0 }
  return pattern
}

/** The place among the strings of a chunk that is no words, but random letters that hide how long the words are. */
const PADDING = 5

/**
 * The strings of a chunk that may differ from frame to frame; undefined where more than words tells frames apart, or one
 * of them changes what another counts.
 */
function stringsOf(chunk: Fields): unknown[] | undefined {
  const [choice, ...others] = Array.isArray(chunk.choices) ? chunk.choices : []
  if (others.length > 0 || !isObject(choice) || !isObject(choice.delta)) return undefined
  if (choice.finish_reason !== null && choice.finish_reason !== undefined) return undefined
  const { content, refusal, reasoning_content, reasoning, reasoning_details, tool_calls } = choice.delta
  if (Array.isArray(reasoning_details)) return undefined
  if (typeof reasoning_content === 'string' && typeof reasoning === 'string') return undefined
  const [call, ...otherCalls] = Array.isArray(tool_calls) ? tool_calls : []
  if (otherCalls.length > 0) return undefined
  return [content, refusal, reasoning_content, reasoning, laterArguments(call), chunk.obfuscation]
}

/** Arguments of a call that goes on. The frame that names a call begins it, and the same again would be another. */
function laterArguments(call: unknown): unknown {
  if (!isObject(call) || !isObject(call.function)) return undefined
  return typeof call.function.name === 'string' && call.function.name !== '' ? undefined : call.function.arguments
}

function cutAtGaps(frame: Buffer): { literals: Buffer[]; values: unknown[] } | undefined {
  const text = frame.toString('latin1')
  const literals: Buffer[] = []
  const values: unknown[] = []
  let start = 0
  GAPS.lastIndex = 0
  while (GAPS.exec(text)) {
    const from = GAPS.lastIndex
    const end = endOfString(frame, from)
    if (end === -1) break
    // Copies: a piece of the frame would keep all of the read alive that it came with.
    literals.push(Buffer.from(frame.subarray(start, from)))
    values.push(tryParse(frame.toString('utf8', from - 1, end + 1)))
    start = end
    GAPS.lastIndex = end
  }
  literals.push(Buffer.from(frame.subarray(start)))
  return values.length === 0 ? undefined : { literals, values }
}

/** At which of the strings each gap stands, as the reading of a frame with other words shows it. */
function placesOfGaps(literals: readonly Buffer[], values: readonly unknown[], strings: readonly unknown[]) {
  const chunk = frameFilled(literals, stopgap)
  const found = isObject(chunk) ? (stringsOf(chunk) ?? []) : []
  const places = values.map((value, gap) => {
    const place = found.indexOf(stopgap(gap))
    return typeof value === 'string' && strings[place] === value && value !== stopgap(gap) ? place : -1
  })
  return places.includes(-1) ? undefined : places
}
