import { scrub } from './scrub.ts'

const SHOWN_MAX = 300

/** Somebody else's own words, as far as they may be shown: one line, bounded, without anything like a key. */
export function oneLine(words: string): string {
  const line = scrub(words)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line
}
