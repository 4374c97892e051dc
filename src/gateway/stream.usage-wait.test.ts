import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startUsageWait } from './stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('cuts the connection when the usage does not arrive within ten seconds of the finish reason', () => {
  let cancelled = 0
  startUsageWait({ cancel: () => void cancelled++ })
  vi.advanceTimersByTime(9999)
  expect(cancelled).toBe(0)
  vi.advanceTimersByTime(1)
  // A turn of the loop.
  vi.advanceTimersByTime(2)
  expect(cancelled).toBe(1)
})

it('cancels nothing after the answer has ended', () => {
  let cancelled = 0
  startUsageWait({ cancel: () => void cancelled++ })()
  vi.advanceTimersByTime(60_000)
  expect(cancelled).toBe(0)
})
