import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFormats } from './formats.ts'

const english = createFormats('en-US', 'Europe/Berlin')
const german = createFormats('de', 'Europe/Berlin')
const NOON = '2026-11-22T12:00:00.000Z'

describe('counts', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1_000, '1k'],
    [12_345, '12.3k'],
    [999_949, '999.9k'],
    [999_950, '1M'],
    [1_250_000, '1.3M'],
    [2_000_000_000, '2B'],
  ])('%d is short as %s', (value, shown) => {
    expect(english.short(value)).toBe(shown)
  })

  it('use the short scale names of the language', () => {
    const shown = [1_500, 258_045_208, 2_276_456_235].map((value) => german.short(value).replace(/\s/g, ' '))
    expect(shown).toEqual(['1,5k', '258 Mio.', '2,3 Mrd.'])
  })

  it('switch to the next scale name at a thousand', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 999_000_000_000 }), (value) => {
        const shown = Number(english.short(value).replace(/[kMBT]$/, ''))
        return shown >= 1 && shown < 1_000
      }),
    )
  })

  it('use the plural form of the language', () => {
    const forms = { one: '# key', other: '# keys' }
    expect([0, 1, 2, 1_234].map((value) => english.plural(value, forms))).toEqual([
      '0 keys',
      '1 key',
      '2 keys',
      '1,234 keys',
    ])
  })
})

describe('times', () => {
  it('are shown in the chosen zone and in UTC', () => {
    expect(english.clock(NOON)).toMatch(/^0?1:00 PM$/)
    expect(german.clock(NOON)).toBe('13:00')
    expect(english.utc(NOON)).toBe('2026-11-22 12:00:00 UTC')
  })

  it('are shown relative to now', () => {
    const now = Date.parse(NOON)
    const at = (seconds: number) => english.relative(new Date(now + seconds * 1_000).toISOString(), now)
    expect([at(0), at(-59), at(-3_600), at(90_000), at(-2 * 86_400)]).toEqual([
      'now',
      '59 seconds ago',
      '1 hour ago',
      'tomorrow',
      '2 days ago',
    ])
  })
})

it.each([
  [0, '0 ms'],
  [640, '640 ms'],
  [1_240, '1.24 sec'],
  [59_900, '59.9 sec'],
  [125_000, '2 min 5 sec'],
  [3_600_000, '1 hr 0 min'],
  [90_000_000, '1 day 1 hr'],
])('%d ms lasts %s', (ms, shown) => {
  expect(english.duration(ms)).toBe(shown)
})

it.each([
  ['5h', '5 hours', '5 Stunden'],
  ['1h', '1 hour', '1 Stunde'],
  ['7d', '7 days', '7 Tage'],
  ['90m', '90 minutes', '90 Minuten'],
  ['day', '1 day', '1 Tag'],
  ['week', '1 week', '1 Woche'],
  ['month', '1 month', '1 Monat'],
  ['fortnight', 'fortnight', 'fortnight'],
])('the window %s is called %s, and in German %s', (name, inEnglish, inGerman) => {
  expect([english.window(name), german.window(name)]).toEqual([inEnglish, inGerman])
})
