import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addDays, dayIn, dayStart, isDay } from './time-zones.ts'

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Apia',
  'America/Sao_Paulo',
  'Asia/Beirut',
]
const DAY_MS = 86_400_000

describe('days in a zone', () => {
  it.each([
    ['2026-11-22', 'UTC', '2026-11-22T00:00:00.000Z'],
    ['2026-11-22', 'Europe/Berlin', '2026-11-21T23:00:00.000Z'],
    ['2026-07-01', 'Europe/Berlin', '2026-06-30T22:00:00.000Z'],
    ['2026-11-22', 'Asia/Kolkata', '2026-11-21T18:30:00.000Z'],
    // The clocks went forward at midnight, so the day begins at one.
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
  ])('%s in %s begins at %s', (day, zone, start) => {
    expect(dayStart(day, zone)).toBe(start)
  })

  it('start where the previous day ends, in every zone', () => {
    const days = fc.integer({ min: Date.UTC(2000, 0) / DAY_MS, max: Date.UTC(2040, 0) / DAY_MS })
    fc.assert(
      fc.property(days, fc.constantFrom(...ZONES), (count, zone) => {
        const day = new Date(count * DAY_MS).toISOString().slice(0, 10)
        // Apia skipped this day in 2011.
        fc.pre(!(zone === 'Pacific/Apia' && day === '2011-12-30'))
        const start = Date.parse(dayStart(day, zone))
        expect(dayIn(zone, start)).toBe(day)
        expect(dayIn(zone, start - 1)).not.toBe(day)
      }),
      { numRuns: 500 },
    )
  })

  it('can be added across months and years', () => {
    expect(addDays('2026-12-31', 1)).toBe('2027-01-01')
    expect(addDays('2028-03-01', -1)).toBe('2028-02-29')
  })

  it('must exist in the calendar', () => {
    expect(['2026-11-22', '2026-02-30', '2026-13-01', '22.11.2026', '', undefined].map(isDay)).toEqual([
      ...[true, false, false, false, false, false],
    ])
  })
})
