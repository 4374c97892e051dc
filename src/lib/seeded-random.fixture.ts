/** A small generator that a seed repeats (mulberry32): whole numbers from 0 to just below what is asked. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** The same as numbers from 0 to just below 1. */
export function fractionsFrom(seed: number): () => number {
  const below = randomFrom(seed)
  return () => below(2 ** 32) / 2 ** 32
}
