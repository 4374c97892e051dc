import { describe, expect, it } from 'vitest'
import { createLoopStrain, type StrainTerms, watchLoopDelay } from './loop-strain.ts'

const SECOND = 1_000_000

/** One sample a second, in a time of its own. */
function play(delays: readonly number[], terms: StrainTerms | 'off' = { delayMs: 250, forMs: 5000 }): string {
  const strain = createLoopStrain(() => (terms === 'off' ? undefined : terms))
  return delays
    .map((delay, second) => {
      strain.sample(delay, (second + 1) * SECOND)
      return strain.isStrained ? '#' : '.'
    })
    .join('')
}

const times = (count: number, delay: number) => Array.from({ length: count }, () => delay)

describe('strain of the event loop', () => {
  it('begins when every sample of five seconds was late', () => {
    expect(play([0, ...times(7, 300)])).toBe('.....###')
  })

  it('is not one long step, nor many with pauses between them', () => {
    expect(play([0, 8000, ...times(10, 0)])).toBe('............')
    expect(play([0, ...times(4, 300), 10, ...times(4, 300), 10])).toBe('...........')
  })

  it('ends only when all has been well for as long, and well is better than not late', () => {
    expect(play([0, ...times(5, 300), ...times(6, 200)])).toBe('.....#######')
    expect(play([0, ...times(5, 300), ...times(4, 100), 200, ...times(6, 100)])).toBe('.....##########..')
  })

  it('is measured by the time that has passed, however few samples a busy loop takes', () => {
    const strain = createLoopStrain(() => ({ delayMs: 250, forMs: 5000 }))
    strain.sample(0, 0)
    strain.sample(4000, 4 * SECOND)
    expect(strain.isStrained).toBe(false)
    strain.sample(4000, 8 * SECOND)
    expect(strain.isStrained).toBe(true)
  })

  it('is nothing where it is switched off, and ends where it is', () => {
    expect(play(times(20, 9000), 'off')).toBe('.'.repeat(20))
    let terms: StrainTerms | undefined = { delayMs: 250, forMs: 0 }
    const strain = createLoopStrain(() => terms)
    strain.sample(300, 0)
    expect(strain.isStrained).toBe(true)
    terms = undefined
    strain.sample(300, SECOND)
    expect(strain.isStrained).toBe(false)
  })
})

/** Too short for anything to be counted between two samples. */
const EVERY_MS = 5

/** The delays of twenty samples, on a clock that goes on by so much from one to the next. */
function samplesOn(stepMs: number): Promise<number[]> {
  const seen: number[] = []
  let now = 0
  const nowMicros = () => {
    now += stepMs * 1000
    return now
  }
  return new Promise((resolve) => {
    const stop = watchLoopDelay({ nowMicros }, EVERY_MS, (delayMs) => {
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
