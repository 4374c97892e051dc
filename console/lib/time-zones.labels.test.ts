import { expect, it } from 'vitest'
import { stepLabels } from './time-zones.ts'

const berlin = { locale: 'en-GB', zone: 'Europe/Berlin' }

it('labels steps in the time zone', () => {
  const [day] = stepLabels(['2026-11-21T23:00:00.000Z'], 'day', berlin)
  expect(day).toMatchObject({ short: '22 Nov', long: expect.stringMatching(/^Sunday,? 22 November 2026$/) })
  const [month] = stepLabels(['2026-10-31T23:00:00.000Z'], 'month', berlin)
  expect(month?.short).toBe('Nov 2026')
})

it('distinguishes the repeated hour when clocks go back', () => {
  const [first, second] = stepLabels(['2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z'], 'hour', berlin)
  expect(first?.short).toBe(second?.short)
  expect(first?.long).not.toBe(second?.long)
})
