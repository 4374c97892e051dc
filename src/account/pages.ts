import { type Refused, refused } from './outcome.ts'

export interface Page<Item> {
  readonly items: Item[]
  /** Null at the end of the list. */
  readonly next: string | null
}

/** `read` is one more than fits, so that nobody has to turn a page to find it empty. */
export function cutPage<Row, Name>(
  read: readonly Row[],
  limit: number,
  nameOf: (row: Row) => Name,
): { readonly rows: readonly Row[]; readonly next: Name | null } {
  const rows = read.slice(0, limit)
  return { rows, next: read.length > limit ? nameOf(rows.at(-1)!) : null }
}

/** Where a page ends, as the text that asks for the next one: a number that nobody needs to read. Null: there is none. */
export const writeCursor = (number: number | null): string | null => number?.toString(36) ?? null

/** Undefined for no cursor: the first page. */
export function readCursor(text: string | undefined): number | undefined | Refused {
  if (text === undefined) return undefined
  const number = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN
  return Number.isSafeInteger(number) ? number : noSuchPage()
}

export const noSuchPage = (): Refused =>
  refused('invalid_cursor', '`after` is not the `next` of a page. Leave it out to begin with the first page.', {
    param: 'after',
  })
