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
