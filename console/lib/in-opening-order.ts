export interface OpenedRow {
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
