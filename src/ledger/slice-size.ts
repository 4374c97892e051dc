/** So long a slice should keep the thread that also records every settle, in milliseconds. */
const TARGET_MS = 2

/** Fewer rows would take less than asking for them does. */
const LEAST = 200

/** How many rows a slice may have, learned from how long the last ones took. */
export function createSliceSize(ticks: () => number, least = LEAST) {
  const most = 4 * least
  let rows = least
  return {
    /** Asks for a slice of that many rows, and takes the time. */
    async timed<Result>(ask: (rows: number) => Promise<Result>): Promise<Result> {
      const began = ticks()
      const result = await ask(rows)
      const ms = (ticks() - began) / 1000
      if (ms > 2 * TARGET_MS) rows = Math.max(least, rows >> 1)
      else if (ms < TARGET_MS) rows = Math.min(most, rows + (rows >> 2))
      return result
    },
  }
}
