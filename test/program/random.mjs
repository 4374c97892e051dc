/** Every choice of a run comes from one printed seed. What the kernel schedules stays its own choice. */
export function createRandom(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count) => Math.floor(next() * count)
  return {
    below,
    next,
    between: (low, high) => low + next() * (high - low),
    chance: (probability) => next() < probability,
    pick: (list) => list[below(list.length)],
    /** A stream of choices of its own, so that one client's luck does not depend on how fast the others are. */
    fork: (name) => createRandom(Math.imul(seed ^ (name + 1), 0x9e3779b1)),
  }
}
