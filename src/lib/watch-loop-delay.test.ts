import { expect, it } from 'vitest'
import { watchLoopDelay } from './watch-loop-delay.ts'

/** Too short for anything to be counted between two samples. */
const EVERY_MS = 5

/** The delays of twenty samples, on a clock that goes on by so much from one to the next. */
function samplesOn(stepMs: number): Promise<number[]> {
  const seen: number[] = []
  let now = 0
  const ticks = () => {
    now += stepMs * 1000
    return now
  }
  return new Promise((resolve) => {
    const stop = watchLoopDelay({ ticks }, EVERY_MS, (delayMs) => {
      seen.push(delayMs)
      if (seen.length < 20) return
      stop()
      clearInterval(awake)
      resolve(seen)
    })
    // The watch itself keeps no process alive.
    const awake = setInterval(() => {}, 60_000)
  })
}

it('takes a time in which nothing was counted for no delay where the sample came when it was due', async () => {
  expect(await samplesOn(EVERY_MS)).not.toContain(EVERY_MS)
})

it('tells how late a sample is in whose time nothing was counted, because the loop stood still', async () => {
  expect(await samplesOn(500)).toContain(500 - EVERY_MS)
})
