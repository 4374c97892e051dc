import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLedgerGate } from './core.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('a gate that stays shut for longer than running turns may go on says so, once an outage', async () => {
  const gate = createLedgerGate(1000)
  let told = 0
  const forget = gate.onOutage(() => void told++)
  gate.shut()
  await vi.advanceTimersByTimeAsync(999)
  gate.shut()
  expect(told).toBe(0)
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toBe(1)
  gate.reopen()
  gate.shut()
  await vi.advanceTimersByTimeAsync(500)
  gate.reopen()
  await vi.advanceTimersByTimeAsync(5000)
  expect(told, 'a short one is not told of').toBe(1)
  forget()
  gate.shut()
  await vi.advanceTimersByTimeAsync(5000)
  expect(told).toBe(1)
})

it('whoever waits for it is let in when it opens, or sent away when its time is over', async () => {
  const gate = createLedgerGate()
  expect(await gate.whenOpen(10)).toBe(true)
  gate.shut()
  const [patient, hasty] = [gate.whenOpen(1000), gate.whenOpen(10)]
  await vi.advanceTimersByTimeAsync(10)
  expect(await hasty).toBe(false)
  gate.reopen()
  expect(await patient).toBe(true)
})
