import { describe, expect, it } from 'vitest'
import { filterQuery, readFilters } from './statement-filters.ts'

describe('filters of the statement', () => {
  it('are read from an address, and nothing else in it counts', () => {
    expect(readFilters({ kind: 'refund', from: '2026-11-01', to: '2026-11-30', page: '7' })).toEqual({
      ...{ kind: 'refund', from: '2026-11-01', to: '2026-11-30' },
    })
    expect(readFilters({ kind: 'theft', from: '2026-02-30', to: 'yesterday' })).toEqual({})
    expect(readFilters({})).toEqual({})
  })

  it('bring days in their order', () => {
    expect(readFilters({ from: '2026-11-30', to: '2026-11-01' })).toEqual({ from: '2026-11-01', to: '2026-11-30' })
  })

  it('ask until the end of the last day, where the person is', () => {
    const query = filterQuery({ from: '2026-12-01', to: '2026-12-31' }, 'Europe/Berlin')
    expect(query).toEqual({ from: '2026-12-01', to: '2027-01-01', zone: 'Europe/Berlin' })
  })

  it('name no zone where no day is meant, so that the same question has one answer in the cache', () => {
    expect(filterQuery({ kind: 'charge' }, 'Europe/Berlin')).toEqual({ kind: 'charge' })
  })
})
