interface Row {
  readonly id: string
}

interface Newest<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

interface Merged<Item> {
  readonly rows: readonly Item[]
  /** More has come than was asked for at once: between the two there is something that nobody has. */
  readonly gap: boolean
}

/**
 * The newest rows are right about everything down to their last: what else was there has gone out of the list. Behind it
 * stand the rows that were loaded before.
 */
export function mergeRequests<Item extends Row>(
  newest: Newest<Item> | undefined,
  loaded: readonly Item[],
): Merged<Item> {
  if (newest === undefined) return { rows: loaded, gap: false }
  const last = newest.items.at(-1)
  if (newest.next === null || last === undefined) return { rows: newest.items, gap: false }
  const end = loaded.findIndex(({ id }) => id === last.id)
  return { rows: [...newest.items, ...loaded.slice(end === -1 ? loaded.length : end + 1)], gap: end === -1 }
}
