import { expect, it } from 'vitest'
import { isFiltered, readRequestFilter } from './RequestFilters.tsx'

it('reads known values from the address', () => {
  const filter = { key: 'key_1', model: 'fast-coder', outcome: 'not_ok', kind: 'builder' }
  expect(readRequestFilter(filter)).toEqual(filter)
})

it('ignores unknown values', () => {
  expect(readRequestFilter({ outcome: 'splendid', kind: 'gold', page: '3', key: '', model: undefined })).toEqual({})
})

it('recognizes an empty filter', () => {
  expect([{}, { key: 'key_1' }].map(isFiltered)).toEqual([false, true])
})
