import { type Fields, isObject } from '../../lib/is-object.ts'
import { findGaps, type WordsPlace } from '../sse/words-pattern.ts'

/** All that a delta says beyond its words stands the same in the next one: its block, and fields that nobody knows. */
export const WORDS_PLACE: WordsPlace = {
  gaps: findGaps(['text', 'thinking', 'partial_json']),
  wordsOf: ({ type, delta }) => (type === 'content_block_delta' && isObject(delta) ? wordsIn(delta) : undefined),
}

/** By the kind of a delta, where its words are. */
const WORDS_IN: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

/** The words of a delta; undefined where it has none. */
export function wordsIn(delta: Fields): string | undefined {
  const member = WORDS_IN.get(delta.type)
  const words = member === undefined ? undefined : delta[member]
  return typeof words === 'string' && words !== '' ? words : undefined
}
