import { z } from 'zod'
import { nameArgument } from './plain-text.ts'

const LIMIT_MAX = 200
/** How many are on a page when nobody says. */
export const PAGE_LIMIT = 50

/** What every list is asked with: `after` is the `next` of the page before. */
export const pageArgs = z.strictObject({
  after: nameArgument.optional(),
  limit: z.number().int().min(1).max(LIMIT_MAX).default(PAGE_LIMIT),
})

export type PageArgs = z.output<typeof pageArgs>

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
