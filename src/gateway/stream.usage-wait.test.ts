import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createUsageWait } from './stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('counts that do not come within ten seconds of the finish reason are not waited for any longer', () => {
  let cancelled = 0
  const wait = createUsageWait({ cancel: () => void cancelled++ })
  wait.begin()
  vi.advanceTimersByTime(6000)
  wait.begin()
  vi.advanceTimersByTime(3999)
  expect(cancelled).toBe(0)
  vi.advanceTimersByTime(1)
  // A turn of the loop.
  vi.advanceTimersByTime(2)
  expect(cancelled).toBe(1)
})

it('an answer that has ended cancels nothing', () => {
  let cancelled = 0
  const wait = createUsageWait({ cancel: () => void cancelled++ })
  wait.begin()
  wait.end()
  vi.advanceTimersByTime(60_000)
  expect(cancelled).toBe(0)
})
