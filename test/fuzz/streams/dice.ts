/** Whole numbers from 0 to just below what is asked. */
export type Random = (below: number) => number

/** What chooses: the same again for the same seed. */
export interface Dice {
  readonly random: Random
  pick<Value>(values: readonly Value[]): Value
  /** True once in so many times. */
  onceIn(times: number): boolean
  /** From `least` to `most`, both of them possible. */
  between(least: number, most: number): number
}

export const diceOf = (random: Random): Dice => ({
  random,
  pick: <Value>(values: readonly Value[]): Value => values[random(values.length)]!,
  onceIn: (times) => random(times) === 0,
  between: (least, most) => least + random(most - least + 1),
})

export type Json = Record<string, unknown>

/** A frame as its server means it: what it says, and how it calls that where its wire has names for frames. */
export interface EncodedFrame {
  readonly name?: string
  /** A text stands for itself, as `[DONE]` does. */
  readonly emitted: unknown
}

/** What was done to streams and what came of it, counted. */
export interface Tally {
  readonly counts: Readonly<Record<string, number>>
  count(what: string, by?: number): void
}

export function createTally(): Tally {
  const counts: Record<string, number> = {}
  return {
    counts,
    count(what, by = 1) {
      counts[what] = (counts[what] ?? 0) + by
    },
  }
}

/** A stream as reads may cut it. */
export function cutAnywhere(random: Dice['random'], whole: Buffer): Buffer[] {
  const places = Array.from({ length: random(8) }, () => random(whole.length + 1))
  const ends = [...new Set(places)].sort((a, b) => a - b)
  return [0, ...ends].map((start, at) => whole.subarray(start, ends[at] ?? whole.length))
}
