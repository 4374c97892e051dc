import { expect, it } from 'vitest'
import { createRecentEvents } from './run-turn.ts'

it('keeps the last events and counts all', () => {
  const recent = createRecentEvents()
  for (let index = 0; index < 5_000; index++) recent.add({ event: 'message', data: `${index}` }, index)
  const { events, count } = recent.shown()
  expect([events.length, count, events.at(-1)?.data, events[0]?.number]).toEqual([500, 5_000, '4999', 4_501])
})

it('keeps at most the maximum number of characters', () => {
  const recent = createRecentEvents()
  for (let index = 0; index < 5; index++) recent.add({ event: 'message', data: 'x'.repeat(3_000_000) }, index)
  const { events } = recent.shown()
  expect(events.map(({ data }) => data.length)).toEqual([1_000_000])
})
