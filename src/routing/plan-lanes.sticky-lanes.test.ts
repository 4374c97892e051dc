import { expect, it } from 'vitest'
import { type ConversationKeys, createStickyLanes } from './plan-lanes.ts'

const HOUR_MICROS = 3_600_000_000

const named = (...names: string[]): ConversationKeys => ({ findBy: names, rememberAs: names })

it('a conversation is found by the first of its names that is known', () => {
  const sticky = createStickyLanes({ nowMicros: () => 0 })
  sticky.remember(named('key', 'opening'), { origin: 'one', previousOrigin: undefined })
  sticky.remember(named('other', 'opening'), { origin: 'two', previousOrigin: undefined })
  expect(sticky.find(named('key', 'opening'))).toBe('one')
  expect(sticky.find(named('opening'))).toBe('two')
  expect(sticky.find(named('new', 'opening'))).toBe('two')
  expect(sticky.find(named('new'))).toBeUndefined()
  expect(sticky.find(named())).toBeUndefined()
})

it('a conversation that is known by a sure name leaves its other ones to those who begin alike', () => {
  const sticky = createStickyLanes({ nowMicros: () => 0 })
  sticky.remember(named('mine', 'opening'), { origin: 'one', previousOrigin: undefined })
  sticky.remember(named('yours', 'opening'), { origin: 'two', previousOrigin: undefined })
  sticky.remember(named('mine', 'opening'), { origin: 'one', previousOrigin: undefined })
  expect(sticky.find(named('opening'))).toBe('two')
})

it('it stays where the first of two turns at the same time has taken it', () => {
  const sticky = createStickyLanes({ nowMicros: () => 0 })
  sticky.remember(named('key'), { origin: 'one', previousOrigin: undefined })
  sticky.remember(named('key'), { origin: 'two', previousOrigin: undefined })
  expect(sticky.find(named('key'))).toBe('one')
})

it('one that moves has all of its names there', () => {
  const sticky = createStickyLanes({ nowMicros: () => 0 })
  sticky.remember(named('key', 'opening'), { origin: 'one', previousOrigin: undefined })
  sticky.remember(named('key', 'opening'), { origin: 'two', previousOrigin: 'one' })
  expect([sticky.find(named('key')), sticky.find(named('opening'))]).toEqual(['two', 'two'])
})

it('is on its lane for longer than any cache lives, counted from its last turn', () => {
  let now = 0
  const sticky = createStickyLanes({ nowMicros: () => now })
  for (const origin of ['one', 'one', 'two']) {
    sticky.remember(named('a'), { origin, previousOrigin: 'one' })
    now += HOUR_MICROS
    expect(sticky.find(named('a'))).toBe(origin)
  }
  now += HOUR_MICROS
  expect(sticky.find(named('a'))).toBeUndefined()
})
