import { describe, expect, it } from 'vitest'
import { filterQuery, readFilters } from './StatementPanel.tsx'

describe('statement filters', () => {
  it('are read from the address, ignoring everything else', () => {
    expect(readFilters({ kind: 'refund', from: '2026-11-01', to: '2026-11-30', page: '7' })).toEqual({
      ...{ kind: 'refund', from: '2026-11-01', to: '2026-11-30' },
    })
    expect(readFilters({ kind: 'theft', from: '2026-02-30', to: 'yesterday' })).toEqual({})
    expect(readFilters({})).toEqual({})
  })

  it('sort the days', () => {
    expect(readFilters({ from: '2026-11-30', to: '2026-11-01' })).toEqual({ from: '2026-11-01', to: '2026-11-30' })
  })

  it("include the last day in the user's zone", () => {
    const query = filterQuery({ from: '2026-12-01', to: '2026-12-31', each: 'yes' }, 'Europe/Berlin')
    expect(query).toEqual({ from: '2026-12-01', to: '2027-01-01', zone: 'Europe/Berlin' })
  })

  it('omit the zone without days, so that the cache key stays the same', () => {
    expect(filterQuery({ kind: 'charge', each: 'yes' }, 'Europe/Berlin')).toEqual({ kind: 'charge' })
  })

  it("ask for the days of the user's zone, unless each charge is to be shown", () => {
    expect(filterQuery({}, 'Europe/Berlin')).toEqual({ by: 'day', zone: 'Europe/Berlin' })
    expect(readFilters({ each: 'yes' })).toEqual({ each: 'yes' })
    expect(readFilters({ each: 'perhaps' })).toEqual({})
  })
})
