/** How many there were in the last while. What is older falls out in steps of a tenth of it. */
export interface SlidingCount {
  add(): void
  total(): number
  clear(): void
}

const STEPS = 10

export function createSlidingCount(ticks: () => number, spanMicros: number): SlidingCount {
  const stepMicros = spanMicros / STEPS
  const counts = new Array<number>(STEPS).fill(0)
  let newest = Math.floor(ticks() / stepMicros)
  let sum = 0
  const moveOn = () => {
    const now = Math.floor(ticks() / stepMicros)
    for (let step = Math.max(newest + 1, now - STEPS + 1); step <= now; step++) {
      sum -= counts[step % STEPS] ?? 0
      counts[step % STEPS] = 0
    }
    newest = Math.max(newest, now)
  }
  return {
    add() {
      moveOn()
      counts[newest % STEPS] = (counts[newest % STEPS] ?? 0) + 1
      sum++
    },
    total() {
      moveOn()
      return sum
    },
    clear() {
      counts.fill(0)
      sum = 0
    },
  }
}
