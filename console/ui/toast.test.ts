import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ConsoleProblem } from '../lib/console-problem.ts'
import { dismissToast, holdToasts, shownToasts, toast } from './toast.ts'

const LONG_MS = 60_000
const shownTexts = () =>
  shownToasts().map(({ toast: each }) => (each.tone === 'bad' ? each.problem.message : each.text))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  for (const { id } of shownToasts()) dismissToast(id)
  vi.useRealTimers()
})

it('successes disappear by themselves, errors stay', () => {
  toast({ tone: 'good', text: 'It is done.' })
  toast({ tone: 'bad', problem: new ConsoleProblem(500, { code: 'unexpected', message: 'It is not.' }) })
  vi.advanceTimersByTime(LONG_MS)
  expect(shownTexts()).toEqual(['It is not.'])
})

it('toasts stay while the pointer is on them', () => {
  toast({ tone: 'good', text: 'It is done.' })
  holdToasts(true)
  vi.advanceTimersByTime(LONG_MS)
  expect(shownTexts()).toEqual(['It is done.'])
  holdToasts(false)
  vi.advanceTimersByTime(LONG_MS)
  expect(shownTexts()).toEqual([])
})

it('dismissing a toast under the pointer does not hold the others', () => {
  toast({ tone: 'good', text: 'One.' })
  toast({ tone: 'good', text: 'Two.' })
  holdToasts(true)
  dismissToast(shownToasts()[0]?.id ?? 0)
  vi.advanceTimersByTime(LONG_MS)
  expect(shownTexts()).toEqual([])
})
