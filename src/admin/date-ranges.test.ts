import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { beginningsOf, type DayRange, hourAt, type RangeInterval, readDayRange, readOpenRange } from './date-ranges.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const SEED = Number(process.env.ZONES_SEED ?? Date.now() % 1_000_000)

function rangeOf(from: string, to: string, zone: string): DayRange {
  const read = readDayRange({ from, to, zone })
  if (read.kind === 'refused') throw new Error(read.message)
  return read.value
}

const hoursOf = (from: string, to: string, zone: string): number => {
  const range = rangeOf(from, to, zone)
  return (range.to - range.from) / HOUR_MS
}

const stepsOf = (range: DayRange, step: RangeInterval): number[] => beginningsOf(range, step, 10_000)!
const iso = (at: number): string => new Date(at).toISOString()

describe('a range of days', () => {
  it('starts and ends at midnight of its zone', () => {
    const range = rangeOf('2026-11-22', '2026-11-23', 'Asia/Kathmandu')
    expect([iso(range.from), iso(range.to)]).toEqual(['2026-11-21T18:15:00.000Z', '2026-11-22T18:15:00.000Z'])
  })

  it('is shorter or longer on days of clock changes', () => {
    expect(hoursOf('2026-03-29', '2026-03-30', 'Europe/Berlin')).toBe(23)
    expect(hoursOf('2026-10-25', '2026-10-26', 'Europe/Berlin')).toBe(25)
    expect(hoursOf('2026-10-04', '2026-10-05', 'Australia/Lord_Howe')).toBe(23.5)
  })

  it('may be open at either end, and must not end before it begins', () => {
    const [from, to] = ['2026-11-22', '2026-11-23']
    const at = Date.parse('2026-11-22T00:00:00Z')
    expect(readOpenRange({})).toMatchObject({ value: { from: undefined, before: undefined } })
    expect(readOpenRange({ from })).toMatchObject({ value: { from: at, before: undefined } })
    expect(readOpenRange({ from, to })).toMatchObject({ value: { from: at, before: at + DAY_MS } })
    expect(readOpenRange({ from: to, to: from })).toMatchObject({ reason: 'invalid_range' })
    for (const wrong of [{ from: 'x' }, { to: 'x' }])
      expect(readOpenRange(wrong)).toMatchObject({ reason: 'invalid_range' })
  })

  it('begins at 01:00 on a day without midnight', () => {
    expect(iso(rangeOf('2018-11-04', '2018-11-05', 'America/Sao_Paulo').from)).toBe('2018-11-04T03:00:00.000Z')
  })

  it('skips a day that its zone skipped', () => {
    const range = rangeOf('2011-12-28', '2012-01-01', 'Pacific/Apia')
    expect(stepsOf(range, 'day')).toHaveLength(3)
    expect(readDayRange({ from: '2011-12-30', to: '2011-12-31', zone: 'Pacific/Apia' })).toMatchObject({
      reason: 'invalid_range',
    })
  })

  it('is refused for unknown zones and days, and when it is empty', () => {
    const refusals = [
      ['2026-11-22', '2026-11-23', 'Mars/Olympus'],
      ['2026-11-22', '2026-11-23', '+01:07'],
      ['2026-11-22', '2026-11-23', 'Europe/Berlin\n'],
      ['2026-02-31', '2026-11-23', 'UTC'],
      ['0001-01-01', '2026-11-23', 'UTC'],
      ['2026-11-22', '9999-12-31', 'UTC'],
      ['2026-11-22', '2026-11-22', 'UTC'],
      ['2026-11-23', '2026-11-22', 'UTC'],
    ].map(([from, to, zone]) => readDayRange({ from: from!, to: to!, zone: zone! }))
    expect(refusals.map((each) => each.kind === 'refused' && each.reason)).toEqual(Array(8).fill('invalid_range'))
    expect(readOpenRange({ from: '2026-13-01' })).toMatchObject({ reason: 'invalid_range' })
    expect(readOpenRange({ from: '2026-11-22' })).toEqual({
      kind: 'done',
      value: { from: Date.UTC(2026, 10, 22), before: undefined },
    })
  })
})

describe('the steps of a range', () => {
  it('are calendar days of any length', () => {
    const days = stepsOf(rangeOf('2026-10-24', '2026-10-27', 'Europe/Berlin'), 'day')
    expect(days.map(iso)).toEqual(['2026-10-23T22:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
  })

  it('are months, partial at either end', () => {
    const months = stepsOf(rangeOf('2026-01-31', '2026-03-10', 'UTC'), 'month')
    expect(months.map(iso)).toEqual(['2026-01-31', '2026-02-01', '2026-03-01'].map((day) => `${day}T00:00:00.000Z`))
  })

  it('are hours of the zone’s clock, a repeated one counted twice', () => {
    expect(stepsOf(rangeOf('2026-10-25', '2026-10-26', 'Europe/Berlin'), 'hour')).toHaveLength(25)
    expect(stepsOf(rangeOf('2026-03-29', '2026-03-30', 'Europe/Berlin'), 'hour')).toHaveLength(23)
    const [first] = stepsOf(rangeOf('2026-11-22', '2026-11-23', 'Asia/Kolkata'), 'hour')
    expect(iso(first!)).toBe('2026-11-21T18:30:00.000Z')
  })

  it('are refused when there are too many', () => {
    const range = rangeOf('2026-01-01', '2026-01-31', 'UTC')
    expect(beginningsOf(range, 'day', 30)).toHaveLength(30)
    expect(beginningsOf(range, 'day', 29)).toBeUndefined()
  })
})

/** Clocks are turned on the first, the second or the last one of a month. */
function sundayInSpringOrAutumn(below: (count: number) => number): number {
  const first = Date.UTC(2001 + below(36), [2, 3, 8, 9, 10][below(5)]!, 1)
  const sunday = first + ((7 - new Date(first).getUTCDay()) % 7) * DAY_MS
  return sunday + [0, 7, 21, 28][below(4)]! * DAY_MS
}

it(`in every zone a day begins when its calendar first shows it, and steps cover a range without gap (seed ${SEED})`, () => {
  const below = randomFrom(SEED)
  const zones = Intl.supportedValuesOf('timeZone')
  const seen = { zones: zones.length, days: 0, turned: 0 }
  for (const zone of zones) {
    const calendar = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
    for (const day of [Date.UTC(2001, 0, 1) + below(36 * 365) * DAY_MS, sundayInSpringOrAutumn(below)]) {
      const [from, to] = [iso(day).slice(0, 10), iso(day + 2 * DAY_MS).slice(0, 10)]
      const range = rangeOf(from, to, zone)
      expect(calendar.format(range.from) >= from).toBe(true)
      for (let back = 1; back < 100; back++)
        expect(calendar.format(range.from - back * 900_000) < from, `${zone} ${from}`).toBe(true)
      const hours = stepsOf(range, 'hour')
      expect(hours[0]).toBe(range.from)
      for (const [index, at] of hours.entries()) {
        const length = (hours[index + 1] ?? range.to) - at
        expect(at % 900_000 === 0 && length > 0 && length <= 2 * HOUR_MS, `${zone} ${iso(at)}`).toBe(true)
        expect(hourAt(range.zone, at)).toBeLessThanOrEqual(at)
      }
      seen.days += 1
      if (range.to - range.from !== 2 * DAY_MS) seen.turned += 1
    }
  }
  console.log(`days of zones: seed ${SEED}, ${JSON.stringify(seen)}`)
  expect(seen.turned).toBeGreaterThan(0)
})
