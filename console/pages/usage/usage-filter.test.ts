import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  drillInto,
  GROUPINGS,
  groupBy,
  isNarrowed,
  PRESETS,
  queriedBy,
  readUsageFilter,
  STEPS,
  writeUsageFilter,
} from './usage-filter.ts'
import { MEASURES } from './usage-series.ts'

const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })
const filters = fc.record({
  range: fc.oneof(fc.constantFrom(...PRESETS), fc.constant({ from: '2026-10-25', through: '2026-11-01' })),
  zone: maybe(fc.constantFrom('UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires')),
  step: maybe(fc.constantFrom(...STEPS)),
  by: fc.constantFrom(...GROUPINGS),
  tag: maybe(fc.constantFrom('repo', 'cost.center')),
  measure: fc.constantFrom(...MEASURES),
  model: maybe(fc.string({ minLength: 1 })),
  key: maybe(fc.string({ minLength: 1 })),
  kind: maybe(fc.constantFrom('wallet' as const, 'builder' as const)),
})

describe('the address of the usage page', () => {
  it('round-trips', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const text = new URLSearchParams(writeUsageFilter(filter)).toString()
        expect(readUsageFilter(Object.fromEntries(new URLSearchParams(text)))).toEqual(filter)
      }),
    )
  })

  it('omits defaults', () => {
    expect(writeUsageFilter(readUsageFilter({}))).toEqual({})
  })

  it('ignores unknown values', () => {
    const strange = { range: 'always', from: '2026-02-30', through: '2026-03-01', zone: 'Mars/Olympus', step: 'week' }
    expect(readUsageFilter({ ...strange, by: 'colour', measure: 'joy', kind: 'gold', model: '' })).toEqual(
      readUsageFilter({}),
    )
    expect(readUsageFilter({ from: '2026-03-02', through: '2026-03-01' }).range).toBe('30d')
  })
})

describe('drilling down', () => {
  it('goes from model to key to payer and stays there', () => {
    const whole = readUsageFilter({})
    const model = drillInto(whole, 'fast-coder')!
    expect(model).toMatchObject({ model: 'fast-coder', by: 'key' })
    const key = drillInto(model, 'key_1')!
    expect(key).toMatchObject({ model: 'fast-coder', key: 'key_1', by: 'kind' })
    expect(drillInto(key, 'wallet')).toMatchObject({ kind: 'wallet', by: 'kind' })
    expect([whole, model].map(isNarrowed)).toEqual([false, true])
  })

  it('ends at people, teams and tags, which are no filters', () => {
    for (const by of ['person', 'team', 'tag'] as const)
      expect(drillInto({ ...readUsageFilter({}), by }, 'x')).toBeUndefined()
  })
})

describe('usage by tag', () => {
  it('asks for the name, and not for one model', () => {
    const filter = groupBy(readUsageFilter({ model: 'fast-coder', tag: 'branch' }), 'tag')
    expect([filter.model, queriedBy(filter)]).toEqual([undefined, 'tag:branch'])
    expect(queriedBy(readUsageFilter({ by: 'tag', tag: 'Not a name' }))).toBe('tag:repo')
  })
})
