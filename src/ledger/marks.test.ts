import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { PackedMarks } from '../db/record-changes.ts'
import { createMarkKeeper, type MarkKeeper, unpackMarks } from './marks.ts'

let sent: PackedMarks[]
let gate: { open: boolean }
let keeper: MarkKeeper

beforeEach(() => {
  vi.useFakeTimers()
  sent = []
  gate = { open: true }
  keeper = createMarkKeeper({ mark: (marks) => void sent.push(marks) }, gate, { now: () => 1, intervalMs: 10 })
})
afterEach(() => {
  keeper.stop()
  vi.useRealTimers()
})

const lastSent = () => unpackMarks(sent.at(-1)!.packed)

it('a recorded mark never overwrites a newer one in memory', () => {
  keeper.set(1, 9)
  keeper.restore(new Map([[1, 3]]), new Set([1]))
  expect(keeper.get(1)).toBe(9)
})

it('keeps the marks of open receipts only, wherever they come from', () => {
  keeper.set(1, 9)
  keeper.set(2, 5)
  const recorded = new Map([
    [3, 7],
    [4, 8],
  ])
  keeper.restore(recorded, new Set([1, 3]))
  expect([1, 2, 3, 4].map((receipt) => keeper.get(receipt))).toEqual([9, undefined, 7, undefined])
  vi.advanceTimersByTime(10)
  expect(lastSent()).toEqual(
    new Map([
      [1, 9],
      [3, 7],
    ]),
  )
})

it('what is marked behind a shut gate is sent when it opens', () => {
  gate.open = false
  keeper.set(1, 4)
  vi.advanceTimersByTime(50)
  expect(sent).toHaveLength(0)
  gate.open = true
  vi.advanceTimersByTime(10)
  expect(lastSent()).toEqual(new Map([[1, 4]]))
})

it('sends nothing when no stream is left', () => {
  keeper.set(1, 4)
  keeper.forget(1)
  vi.advanceTimersByTime(50)
  expect(sent).toHaveLength(0)
})
