import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BYS, drillInto, isNarrowed, PRESETS, readUsageFilter, STEPS, writeUsageFilter } from './usage-filter.ts'
import { MEASURES } from './usage-series.ts'

const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })
const filters = fc.record({
  range: fc.oneof(fc.constantFrom(...PRESETS), fc.constant({ from: '2026-10-25', through: '2026-11-01' })),
  zone: maybe(fc.constantFrom('UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires')),
  step: maybe(fc.constantFrom(...STEPS)),
  by: fc.constantFrom(...BYS),
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
    const model = drillInto(whole, 'fast-coder')
    expect(model).toMatchObject({ model: 'fast-coder', by: 'key' })
    const key = drillInto(model, 'key_1')
    expect(key).toMatchObject({ model: 'fast-coder', key: 'key_1', by: 'kind' })
    expect(drillInto(key, 'wallet')).toMatchObject({ kind: 'wallet', by: 'kind' })
    expect([whole, model].map(isNarrowed)).toEqual([false, true])
  })
})
