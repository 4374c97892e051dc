import { tryParse } from '../json/try-parse.ts'
import { readData } from './frame-data.ts'

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
