interface Row extends OpenedRow {
  readonly state: string
}

interface Newest<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

interface Merged<Item> {
  readonly rows: readonly Item[]
  /** More requests have ended than one page holds, so rows are missing between the two lists. */
  readonly gap: boolean
}

/**
 * The newest page starts with the running requests, as many as fit, followed by the last ended ones. It is right about
 * those: a request that it should list but does not is no longer running. The rows loaded before follow.
 */
export function mergeRequests<Item extends Row>(
  newest: Newest<Item> | undefined,
  loaded: readonly Item[],
): Merged<Item> {
  if (newest === undefined) return { rows: inOpeningOrder(loaded), gap: false }
  const seen = new Set(newest.items.map(({ id }) => id))
  const hasAllRunning = newest.next === null || newest.items.some(hasEnded)
  const gap = newest.next !== null && hasAllRunning && !loaded.some((row) => hasEnded(row) && seen.has(row.id))
  if (gap || newest.next === null) return { rows: inOpeningOrder(newest.items), gap }
  const behind = loaded.filter((row) => !seen.has(row.id) && (hasEnded(row) || !hasAllRunning))
  return { rows: inOpeningOrder([...newest.items, ...behind]), gap }
}

const hasEnded = ({ state }: Row): boolean => state !== 'open'

interface OpenedRow {
  readonly id: string
  readonly opened_at: string
}

/**
 * Newest start first, so that a row keeps its place when its request ends. Pages list running requests before ended
 * ones, so a request that ends between two pages appears twice, and the later row wins.
 */
export function inOpeningOrder<Item extends OpenedRow>(rows: readonly Item[]): Item[] {
  const each = new Map(rows.map((row) => [row.id, row]))
  return [...each.values()].sort((one, other) => (isBefore(other, one) ? -1 : 1))
}

const isBefore = (one: OpenedRow, other: OpenedRow): boolean =>
  one.opened_at === other.opened_at ? one.id < other.id : one.opened_at < other.opened_at
