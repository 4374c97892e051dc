import { expect, test } from 'vitest'
import { planWindow, windowName } from './catalog.ts'

const HOUR = 3_600_000
const anchored = (ms: number) => ({ kind: 'anchored', ms }) as const

test.each([
  [5 * HOUR, '5h'],
  [24 * HOUR, '1d'],
  [168 * HOUR, '7d'],
  [90 * 60_000, '90m'],
  [90_000, '90s'],
  [90_001, '90001ms'],
])('a window of %i ms is called %s, however it was written', (ms, name) => {
  expect(windowName(anchored(ms))).toBe(name)
})

test('a week from Monday and seven days from the first use are two windows', () => {
  const amount = 1n as never
  expect(planWindow({ kind: 'week' }, amount).subject).toBe('window:week')
  expect(planWindow(anchored(168 * HOUR), amount).subject).toBe('window:7d')
  expect(planWindow({ kind: 'month', day: 'billing' }, amount)).toEqual({
    subject: 'window:month',
    unit: 'quota',
    name: 'month',
    cycle: { kind: 'month', day: 'billing' },
    amount,
  })
})
