/**
 * The first number, from 1 on and up to `end`, whose time is a moment or later; `end` when none is. Numbers and times rise
 * together, so it is found by halving: a few dozen looks into an index, however much there is.
 */
export async function findFirstSince({
  moment,
  end,
  timeOf,
}: {
  readonly moment: number
  readonly end: number
  /** Of the last that has this number or a lower one; undefined: there is none. */
  readonly timeOf: (number: number) => Promise<number | undefined>
}): Promise<number> {
  let [low, high] = [1, end]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = await timeOf(middle)
    if (at !== undefined && at >= moment) high = middle
    else low = middle + 1
  }
  return low
}

/** About two milliseconds of the thread that also records every settle. */
const SLICE_REQUESTS = 1000
/** A page that is not full after so many looks ends where it has come to. */
const SLICES = 5

/** Numbers from `from` on, before `before`. */
interface Numbers {
  readonly from: number
  readonly before: number
}

interface SlicedList<Row> extends Numbers {
  readonly limit: number
  readonly numberOf: (row: Row) => number
  /** The number from which on there are so many requests before another number; undefined: fewer. */
  readonly sliceStart: (slice: { readonly before: number; readonly requests: number }) => Promise<number | undefined>
  /** Newest first. */
  readonly list: (slice: Numbers & { readonly limit: number }) => Promise<readonly Row[]>
}

export interface SlicedPage<Row> {
  readonly rows: readonly Row[]
  /** The number that the next page comes before; null at the end. */
  readonly next: number | null
}

/**
 * A page of what is wanted among an account's requests, newest first. Where that is little, a page is short, not slow: it
 * is looked for among a bounded number of requests, and `next` goes on behind them.
 */
export async function readInSlices<Row>(sliced: SlicedList<Row>): Promise<SlicedPage<Row>> {
  const { limit, numberOf } = sliced
  const found: Row[] = []
  let before = sliced.before
  for (let slice = 0; slice < SLICES; slice++) {
    const start = await sliced.sliceStart({ before, requests: SLICE_REQUESTS })
    const from = Math.max(start ?? sliced.from, sliced.from)
    found.push(...(await sliced.list({ from, before, limit: limit + 1 - found.length })))
    const firstBehind = found[limit]
    if (firstBehind !== undefined) return { rows: found.slice(0, limit), next: numberOf(firstBehind) + 1 }
    if (from === sliced.from) return { rows: found, next: null }
    before = from
  }
  return { rows: found, next: before }
}
