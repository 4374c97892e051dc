import { type Refused, refused } from './outcome.ts'

/** Where a page ends, as the text that asks for the next one: a number that nobody needs to read. Null: there is none. */
export const writeCursor = (number: number | null): string | null => number?.toString(36) ?? null

/** Undefined for no cursor: the first page. */
export function readCursor(text: string | undefined): number | undefined | Refused {
  if (text === undefined) return undefined
  const number = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  return refused('invalid_cursor', '`after` is not the `next` of a page. Leave it out to begin with the first page.')
}
