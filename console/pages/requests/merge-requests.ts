import { inOpeningOrder, type OpenedRow } from '../../lib/in-opening-order.ts'

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
  const told = new Set(newest.items.map(({ id }) => id))
  const tellsAllThatRun = newest.next === null || newest.items.some(hasEnded)
  const gap = newest.next !== null && tellsAllThatRun && !loaded.some((row) => hasEnded(row) && told.has(row.id))
  if (gap || newest.next === null) return { rows: inOpeningOrder(newest.items), gap }
  const behind = loaded.filter((row) => !told.has(row.id) && (hasEnded(row) || !tellsAllThatRun))
  return { rows: inOpeningOrder([...newest.items, ...behind]), gap }
}

const hasEnded = ({ state }: Row): boolean => state !== 'open'
