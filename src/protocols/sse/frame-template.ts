import { type Fields, isObject } from '../../lib/types.ts'
import { endOfPlainText, endOfString, isQuote, rewriteString, textOfLatin1, tryParse } from '../json/strings.ts'
import { readData } from './frame-data.ts'
import type { FrameSplitter } from './split-frames.ts'

/** What several frames say that mean the same as one before them, with other words. */
export interface TemplateRun {
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
  take(frames: FrameSplitter): TemplateRun | undefined
}

export function createWordTemplates(place: TemplateSlot): AlikeWords {
  let pattern: TemplatePattern | undefined
  let patternsInVain = 0
  return {
    learn(frame, words) {
      if (patternsInVain >= PATTERNS_IN_VAIN_MAX) return
      patternsInVain++
      pattern = learnTemplate(place, frame, words)
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

function takeRun(pattern: TemplatePattern, frames: FrameSplitter): TemplateRun | undefined {
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

/** Where the frames of a protocol have their words, and what else differs in them that means nothing. */
export interface TemplateSlot {
  /** Finds them, made by `findGaps`. */
  readonly gaps: RegExp
  /** The words of a frame that has one string of them, and means nothing else that its reader would remember. */
  wordsOf(frame: Fields): string | undefined
}

/**
 * What the frames of a stream have in common that differ in one string of words: whoever has read one of them whole need
 * not parse the next. Their running number and their padding may differ too, which no reader looks at.
 */
interface TemplatePattern {
  /** Where the frame ends that begins at `from`; -1 when it is not of this pattern, or not all there. */
  match(bytes: Buffer, from: number): number
  /** Of the frame that was matched last. */
  readonly matched: MatchedWords
}

interface MatchedWords {
  /** The inside of the string. */
  start: number
  end: number
  /** As it would be written here, where it does not stand so already: a character for each byte. */
  written: string | undefined
  /** Bytes of its text. */
  textBytes: number
}

type GapKind = 'words' | 'padding' | 'number'

interface CutFrame {
  /** One more than there are gaps. */
  readonly literals: readonly Buffer[]
  readonly gaps: readonly GapKind[]
}

/** The pattern of a frame with these words; undefined where no other frame can be known by it. */
export function learnTemplate(place: TemplateSlot, frame: Buffer, words: string): TemplatePattern | undefined {
  const cut = cutFrame(place, frame, words)
  if (cut === undefined || words === '' || words === STOPGAPS.words) return undefined
  const { literals, gaps } = cut
  // It is proved when the first frame fits: many are learned that no other frame is like.
  let proved: boolean | undefined
  const matched: MatchedWords = { start: 0, end: 0, written: undefined, textBytes: 0 }
  return {
    matched,
    match(bytes, from) {
      if (proved === false) return -1
      let at = afterLiteral(bytes, from, literals[0]!)
      for (let gap = 0; at !== -1 && gap < gaps.length; gap++) {
        const end = endOfGap(gaps[gap]!, bytes, at, matched)
        at = end === -1 ? -1 : afterLiteral(bytes, end, literals[gap + 1]!)
      }
      if (at === -1) return -1
      proved ??= isProved(place, cut)
      return proved ? at : -1
    },
  }
}

function endOfGap(kind: GapKind, bytes: Buffer, at: number, matched: MatchedWords): number {
  if (kind === 'number') return endOfNumber(bytes, at)
  const end = endOfPlainText(bytes, at)
  if (kind === 'padding') return isQuote(bytes[end]) ? end : -1
  // No words mean nothing at all, which is another thing than some.
  if (end === at && isQuote(bytes[end])) return -1
  if (isQuote(bytes[end])) return take(matched, at, end, undefined, end - at)
  const quote = endOfString(bytes, end)
  const rewritten = quote === -1 ? undefined : rewriteString(bytes, at, quote)
  return rewritten === undefined ? -1 : take(matched, at, quote, rewritten.written, rewritten.textBytes)
}

function take(matched: MatchedWords, start: number, end: number, written: string | undefined, textBytes: number) {
  matched.start = start
  matched.end = end
  matched.written = written
  matched.textBytes = textBytes
  return end
}

const ZERO = 0x30
const NINE = 0x39

/** A whole number as JSON has it: no zero before other digits. */
function endOfNumber(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++
  return at === from || (bytes[from] === ZERO && at > from + 1) ? -1 : at
}

/** For members of these names whose strings are words. `"` is escaped inside strings, so a member's name can only be found where it is one. */
export const findGaps = (names: readonly string[]): RegExp =>
  new RegExp(`"(${names.join('|')}|obfuscation)" ?: ?"|"sequence_number" ?: ?(?=\\d)`, 'g')

function cutFrame({ gaps: places }: TemplateSlot, frame: Buffer, words: string): CutFrame | undefined {
  const text = frame.toString('latin1')
  const literals: Buffer[] = []
  const gaps: GapKind[] = []
  let start = 0
  for (const found of text.matchAll(places)) {
    const from = found.index + found[0].length
    const kind = found[1] === undefined ? 'number' : found[1] === 'obfuscation' ? 'padding' : 'words'
    const end = kind === 'number' ? endOfNumber(frame, from) : endOfString(frame, from)
    if (end === -1) return undefined
    // Another string of words belongs to what is the same in all frames: most often it is empty.
    if (kind === 'words' && tryParse(frame.toString('utf8', from - 1, end + 1)) !== words) continue
    // What is there twice may be there twice on purpose.
    if (gaps.includes(kind)) return undefined
    gaps.push(kind)
    // Copies: a piece of the frame would keep all of the read alive that it came with.
    literals.push(Buffer.from(frame.subarray(start, from)))
    start = end
  }
  literals.push(Buffer.from(frame.subarray(start)))
  return gaps.includes('words') ? { literals, gaps } : undefined
}

/** A pattern is proved with these in the gaps: whoever reads it must find each where it is expected. */
const STOPGAPS = { words: 'stopgap for words', padding: 'stopgap for padding', number: '4503599627370497' } as const

function isProved({ wordsOf }: TemplateSlot, { literals, gaps }: CutFrame): boolean {
  const frame = frameFilled(literals, (gap) => STOPGAPS[gaps[gap]!])
  if (!isObject(frame) || wordsOf(frame) !== STOPGAPS.words) return false
  if (gaps.includes('padding') && frame.obfuscation !== STOPGAPS.padding) return false
  return !gaps.includes('number') || frame.sequence_number === Number(STOPGAPS.number)
}

// Frames that differ only in their words have literals in common, bytes that are the same in all of them, with gaps between.

/** A stream whose frames are all different is not asked again whether two of them are alike. */
export const PATTERNS_IN_VAIN_MAX = 8

/** Where a literal ends that begins at `at`; -1 where other bytes stand there, or not all of it. */
export function afterLiteral(bytes: Buffer, at: number, literal: Buffer): number {
  const end = at + literal.length
  return end <= bytes.length && bytes.compare(literal, 0, literal.length, at, end) === 0 ? end : -1
}

/** What a frame says that has these texts in its gaps. */
export function frameFilled(literals: readonly Buffer[], textIn: (gap: number) => string): unknown {
  const filled = literals.flatMap((literal, at) => (at === 0 ? [literal] : [Buffer.from(textIn(at - 1)), literal]))
  const data = readData(Buffer.concat(filled))
  return data && tryParse(data.toString('utf8'))
}
