interface Row extends OpenedRow {
  readonly state: string
}

interface Newest<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

interface Merged<Item> {
  readonly rows: readonly Item[]
  /** More has ended than was asked for at once: between the two there is something that nobody has. */
  readonly gap: boolean
}

/**
 * The newest page begins with all that run, or with as many as fit, and goes on with the last that ended. It is right about
 * those: what is not among them does not run any more. Behind it stand the rows that were loaded before.
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
 * Requests by when they began, the newest first: so a row keeps its place when its request ends. Pages tell those that run
 * before those that have ended, and one that ends between two pages is told twice: the later word counts.
 */
export function inOpeningOrder<Item extends OpenedRow>(rows: readonly Item[]): Item[] {
  const each = new Map(rows.map((row) => [row.id, row]))
  return [...each.values()].sort((one, other) => (isBefore(other, one) ? -1 : 1))
}

const isBefore = (one: OpenedRow, other: OpenedRow): boolean =>
  one.opened_at === other.opened_at ? one.id < other.id : one.opened_at < other.opened_at
