import { expect, it } from 'vitest'
import { parseExpiry } from './values.ts'

const NOW = Date.UTC(2026, 10, 20, 12)

it('reads spans from now and dates', () => {
  expect(parseExpiry('12h', NOW)).toBe(NOW + 43_200_000)
  expect(parseExpiry('2w', NOW)).toBe(NOW + 14 * 86_400_000)
  expect(parseExpiry('2027-01-31', NOW)).toBe(Date.UTC(2027, 0, 31))
  expect(parseExpiry('2027-01-31T10:00:00+02:00', NOW)).toBe(Date.UTC(2027, 0, 31, 8))
})

it.each(['', '0d', '30', '30y', '2026-11-20', '2027-02-31', '2027-13-01', 'tomorrow', '999999w', '31.1.2027'])(
  'refuses %j',
  (text) => {
    expect(parseExpiry(text, NOW)).toBeUndefined()
  },
)
