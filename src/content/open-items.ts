import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { AccountKey } from './account-keys.ts'
import { type LinkRow, listItems } from './item-rows.ts'
import { itemName, openInSlices, openPart } from './sealed-part.ts'

/** Fetched in one question: a few milliseconds of the file's thread. */
const FETCHED_BYTES = 1024 * 1024
const FETCHED_AT_ONCE = 500

/** The JSON of these items, each opened once however often it is linked; what is damaged or has gone is not among them. */
export async function openItems(
  file: SqliteFile,
  key: AccountKey,
  links: readonly LinkRow[],
): Promise<ReadonlyMap<number, Buffer>> {
  const opened = new Map<number, Buffer>()
  for (const slice of slicesOf(links)) {
    const rows = await listItems(file, slice)
    await openInSlices(rows, async (row) => {
      const bytes = await openPart(key, itemName(row.digest), row)
      if (bytes !== undefined) opened.set(row.item, bytes)
    })
  }
  return opened
}

function slicesOf(links: readonly LinkRow[]): number[][] {
  const slices: number[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const [item, size] of new Map(links.map((link) => [link.item, link.bytes]))) {
    if (bytes + size > FETCHED_BYTES || slices.at(-1)!.length >= FETCHED_AT_ONCE) {
      slices.push([])
      bytes = 0
    }
    slices.at(-1)!.push(item)
    bytes += size
  }
  return slices
}

/** In the order of the links; undefined when one is missing. */
export function inOrder(links: readonly LinkRow[], opened: ReadonlyMap<number, Buffer>): Buffer[] | undefined {
  const items: Buffer[] = []
  for (const { item } of links) {
    const bytes = opened.get(item)
    if (bytes === undefined) return undefined
    items.push(bytes)
  }
  return items
}
