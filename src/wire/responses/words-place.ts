import { findGaps, type WordsPlace } from '../sse/words-pattern.ts'

/** All that a delta says beyond its words stands the same in the next one: its item, its part, fields that nobody knows. */
export const WORDS_PLACE: WordsPlace = {
  gaps: findGaps(['delta']),
  wordsOf: ({ delta }) => (typeof delta === 'string' ? delta : undefined),
}
