import { expect, it } from 'vitest'
import { isFiltered, readRequestFilter } from './RequestFilters.tsx'

it('reads from an address what it knows', () => {
  const filter = { key: 'key_1', model: 'fast-coder', outcome: 'not_ok', kind: 'builder' }
  expect(readRequestFilter(filter)).toEqual(filter)
})

it('makes nothing of words that are not its own', () => {
  expect(readRequestFilter({ outcome: 'splendid', kind: 'gold', page: '3', key: '', model: undefined })).toEqual({})
})

it('knows an empty filter', () => {
  expect([{}, { key: 'key_1' }].map(isFiltered)).toEqual([false, true])
})
