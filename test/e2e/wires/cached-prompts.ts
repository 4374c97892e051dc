import { type Fields, isObject } from '../../../src/lib/types.ts'
import type { ModelState } from '../../fakes/polite-model.ts'

const BYTES_PER_TOKEN = 4

/**
 * Counts as a server does that keeps what stands in front of a mark: of what begins as something that it has kept already,
 * the longest such beginning is read, the rest up to the last mark is written, and only what is behind it is plain input.
 */
export function keepingCounts(): ModelState['countsOf'] {
  const kept = new Set<string>()
  return (receivedRequest, _hearing, { thoughts, words, calls }) => {
    const pieces = piecesOf(receivedRequest)
    const marked = pieces.flatMap(({ isMarked }, at) => (isMarked ? [beginningOf(pieces, at)] : []))
    const read = pieces.map((_, at) => beginningOf(pieces, at)).findLast((beginning) => kept.has(beginning)) ?? ''
    const last = marked.at(-1) ?? ''
    for (const beginning of marked) kept.add(beginning)
    return {
      input: tokensOf(beginningOf(pieces, pieces.length - 1)),
      cached: marked.length === 0 ? 0 : tokensOf(read),
      written: Math.max(0, tokensOf(last) - tokensOf(read)),
      output: 1 + thoughts.length + words.length + 5 * calls.length,
    }
  }
}

const tokensOf = (text: string): number => Math.floor(text.length / BYTES_PER_TOKEN)

interface Piece {
  readonly text: string
  readonly isMarked: boolean
}

const beginningOf = (pieces: readonly Piece[], at: number): string =>
  pieces
    .slice(0, at + 1)
    .map(({ text }) => text)
    .join('')

/** A prompt in the order in which a server reads it. */
export function piecesOf({ tools, system, messages }: Fields): Piece[] {
  const emitted = listOf(messages).flatMap(({ content }) => listOf(content))
  return [...listOf(tools), ...listOf(system), ...emitted].map(({ cache_control: mark, ...piece }) => ({
    text: JSON.stringify(piece),
    isMarked: mark !== undefined,
  }))
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])
