import { expect, it } from 'vitest'
import { CAP_KINDS, type CapName, periodAt } from '../model/allowance.ts'
import { periodSetBack } from './clock.ts'

const HOUR = 3_600_000
const from = Date.UTC(2027, 11, 28, 10, 30)
const to = Date.UTC(2026, 10, 23, 7, 15)
const at = (time: number) => new Date(time).toISOString()
const emitted = ({ start, end }: { start: number; end: number }) => [at(start), at(end)]

it('a span that is counted from its first use moves by as much as time does, and has as much of it left', () => {
  const period = { start: from - HOUR, end: from + 4 * HOUR }
  expect(periodSetBack('5h', period, { from, to })).toEqual({ start: to - HOUR, end: to + 4 * HOUR })
})

it('a day, a week and a quarter of the calendar become those that run', () => {
  const setBack = (name: CapName) =>
    emitted(periodSetBack(name, periodAt(CAP_KINDS[name].cycle, from, 1), { from, to }))
  const today = ['2026-11-23T00:00:00.000Z', '2026-11-24T00:00:00.000Z']
  expect(setBack('day')).toEqual(today)
  expect(setBack('requests_day')).toEqual(today)
  expect(setBack('tokens_day')).toEqual(today)
  expect(setBack('week')).toEqual(['2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z'])
  expect(setBack('quarter')).toEqual(['2026-10-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'])
})

it('a month keeps the day on which it turns, also where the month is too short for it', () => {
  const month = (day: number, when = from) =>
    emitted(periodSetBack('month', periodAt({ kind: 'month', day }, when, 1), { from: when, to }))
  expect(month(1)).toEqual(['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'])
  expect(month(25)).toEqual(['2026-10-25T00:00:00.000Z', '2026-11-25T00:00:00.000Z'])
  expect(month(31)).toEqual(['2026-10-31T00:00:00.000Z', '2026-11-30T00:00:00.000Z'])
  // It ends on the 28th of February: of the 31st.
  expect(month(31, Date.UTC(2027, 1, 10))).toEqual(['2026-10-31T00:00:00.000Z', '2026-11-30T00:00:00.000Z'])
})
