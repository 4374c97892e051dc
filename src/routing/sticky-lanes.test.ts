import { expect, it } from 'vitest'
import { createStickyLanes } from './sticky-lanes.ts'

const HOUR_MICROS = 3_600_000_000

it('a conversation is found by the first of its names that is known', () => {
  const sticky = createStickyLanes({ ticks: () => 0 })
  sticky.remember(['key', 'opening'], 'one')
  sticky.remember(['other', 'opening'], 'two')
  expect(sticky.find(['key', 'opening'])).toBe('one')
  expect(sticky.find(['opening'])).toBe('two')
  expect(sticky.find(['new', 'opening'])).toBe('two')
  expect(sticky.find(['new'])).toBeUndefined()
  expect(sticky.find([])).toBeUndefined()
})

it('is on its lane for longer than any cache lives, counted from its last turn', () => {
  let now = 0
  const sticky = createStickyLanes({ ticks: () => now })
  for (const origin of ['one', 'one', 'two']) {
    sticky.remember(['a'], origin)
    now += HOUR_MICROS
    expect(sticky.find(['a'])).toBe(origin)
  }
  now += HOUR_MICROS
  expect(sticky.find(['a'])).toBeUndefined()
})
