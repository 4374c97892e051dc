import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLedgerGate } from './core.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('a gate that stays shut for longer than running turns may go on says so, once an outage', async () => {
  const gate = createLedgerGate(1000)
  let calls = 0
  const forget = gate.onOutage(() => void calls++)
  gate.shut()
  await vi.advanceTimersByTimeAsync(999)
  gate.shut()
  expect(calls).toBe(0)
  await vi.advanceTimersByTimeAsync(5000)
  expect(calls).toBe(1)
  gate.reopen()
  gate.shut()
  await vi.advanceTimersByTimeAsync(500)
  gate.reopen()
  await vi.advanceTimersByTimeAsync(5000)
  expect(calls, 'a short one is not reported').toBe(1)
  forget()
  gate.shut()
  await vi.advanceTimersByTimeAsync(5000)
  expect(calls).toBe(1)
})

it('a caller that waits for it continues when it opens, or times out', async () => {
  const gate = createLedgerGate()
  expect(await gate.whenOpen(10)).toBe(true)
  gate.shut()
  const [patient, hasty] = [gate.whenOpen(1000), gate.whenOpen(10)]
  await vi.advanceTimersByTimeAsync(10)
  expect(await hasty).toBe(false)
  gate.reopen()
  expect(await patient).toBe(true)
})
