interface HeldBack<Row> {
  readonly shown: readonly Row[]
  readonly waiting: number
}

/** Rows above the first that somebody already sees wait until they may come in. Where none of those is left, nothing waits. */
export function holdBack<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  seen: ReadonlySet<string> | undefined,
): HeldBack<Row> {
  const first = seen === undefined ? 0 : rows.findIndex((row) => seen.has(idOf(row)))
  return first <= 0 ? { shown: rows, waiting: 0 } : { shown: rows.slice(first), waiting: first }
}
