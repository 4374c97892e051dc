import { afterEach, expect, it, vi } from 'vitest'
import { startSweeper } from './start-sweeper.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('a sweep that fails is logged, and the next one comes all the same', async () => {
  vi.useFakeTimers()
  const errors: object[] = []
  let sweeps = 0
  const sweep = async () => {
    sweeps += 1
    throw new Error('the disk is full')
  }
  const stop = startSweeper({ sweep, what: 'the books', log: { error: (facts) => errors.push(facts) } }, 10)
  await vi.advanceTimersByTimeAsync(25)
  expect([sweeps, errors.length]).toEqual([2, 2])
  stop()
  await vi.advanceTimersByTimeAsync(25)
  expect(sweeps).toBe(2)
})
