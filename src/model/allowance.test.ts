import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cycle, periodAt } from './allowance.ts'

const at = (text: string): number => Date.parse(text)
const periodOf = (cycle: Cycle, time: string, billingDay = 1): [string, string] => {
  const { start, end } = periodAt(cycle, at(time), billingDay)
  return [new Date(start).toISOString(), new Date(end).toISOString()]
}

describe('a period', () => {
  it('of an anchored cycle begins with its first use', () => {
    expect(periodOf({ kind: 'anchored', ms: 5 * 3_600_000 }, '2026-03-29T00:30:00.000Z')).toEqual([
      '2026-03-29T00:30:00.000Z',
      '2026-03-29T05:30:00.000Z',
    ])
  })

  it('of a day and a week turns at midnight UTC, the week on Monday', () => {
    expect(periodOf({ kind: 'day' }, '2028-02-29T23:59:59.999Z')).toEqual([
      '2028-02-29T00:00:00.000Z',
      '2028-03-01T00:00:00.000Z',
    ])
    expect(periodOf({ kind: 'week' }, '2026-11-22T23:59:59.999Z')[0]).toBe('2026-11-16T00:00:00.000Z')
    expect(periodOf({ kind: 'week' }, '2026-11-23T00:00:00.000Z')[0]).toBe('2026-11-23T00:00:00.000Z')
  })

  it('of a billing month turns on the day of billing, or on the last one of a shorter month, and never drifts', () => {
    const monthly: Cycle = { kind: 'month', day: 'billing' }
    expect(periodOf(monthly, '2026-02-10T00:00:00Z', 31)).toEqual([
      '2026-01-31T00:00:00.000Z',
      '2026-02-28T00:00:00.000Z',
    ])
    expect(periodOf(monthly, '2026-03-01T00:00:00Z', 31)).toEqual([
      '2026-02-28T00:00:00.000Z',
      '2026-03-31T00:00:00.000Z',
    ])
    expect(periodOf(monthly, '2028-02-29T12:00:00Z', 31)).toEqual([
      '2028-02-29T00:00:00.000Z',
      '2028-03-31T00:00:00.000Z',
    ])
    expect(periodOf(monthly, '2026-12-31T00:00:00Z', 31)).toEqual([
      '2026-12-31T00:00:00.000Z',
      '2027-01-31T00:00:00.000Z',
    ])
  })

  it('holds its moment, and each begins where the one before it ended', () => {
    const seed = 41
    const cycles: Cycle[] = [{ kind: 'day' }, { kind: 'week' }, { kind: 'month', day: 'billing' }]
    const start = at('2027-12-01T00:00:00Z')
    let checked = 0
    fc.assert(
      fc.property(
        fc.constantFrom(...cycles),
        fc.integer({ min: 0, max: 500 * 86_400_000 }),
        fc.integer({ min: 1, max: 31 }),
        (cycle, offset, day) => {
          const moment = start + offset
          const period = periodAt(cycle, moment, day)
          expect(period.start <= moment && moment < period.end).toBe(true)
          expect(periodAt(cycle, period.start, day)).toEqual(period)
          expect(periodAt(cycle, period.end - 1, day)).toEqual(period)
          expect(periodAt(cycle, period.end, day).start).toBe(period.end)
          checked++
        },
      ),
      { seed, numRuns: 5000 },
    )
    console.info(`cycles: seed ${seed}, ${checked} moments`)
  })
})
