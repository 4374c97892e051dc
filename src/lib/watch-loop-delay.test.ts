import { expect, it } from 'vitest'
import { watchLoopDelay } from './watch-loop-delay.ts'

const ticks = () => Number(process.hrtime.bigint() / 1000n)

/** The delays of so many samples; `busyMs` of each time between two is spent in one step. */
function samplesOf(everyMs: number, count: number, busyMs: number): Promise<number[]> {
  const seen: number[] = []
  return new Promise((resolve) => {
    const stop = watchLoopDelay({ ticks }, everyMs, (delayMs) => {
      seen.push(delayMs)
      const until = ticks() + busyMs * 1000
      while (ticks() < until);
      if (seen.length < count) return
      stop()
      clearInterval(awake)
      resolve(seen)
    })
    // The watch itself keeps no process alive.
    const awake = setInterval(() => {}, 60_000)
  })
}

const medianOf = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!

it('takes a time that is too short to count anything for no delay', async () => {
  expect(medianOf(await samplesOf(20, 25, 0))).toBeLessThan(10)
})

it('sees a loop that stands still between two samples', async () => {
  expect(medianOf(await samplesOf(20, 9, 120))).toBeGreaterThan(60)
})
