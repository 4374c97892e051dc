import { describe, expect, it } from 'vitest'
import { usageRange, widerThan } from './usage-filter.ts'

const TODAY = '2026-11-22'
const own = (from: string, through: string) => ({ from, through })

describe('the range of usage', () => {
  it.each([
    ['today' as const, { from: '2026-11-22', to: '2026-11-23', step: 'hour' }],
    ['yesterday' as const, { from: '2026-11-21', to: '2026-11-22', step: 'hour' }],
    ['7d' as const, { from: '2026-11-16', to: '2026-11-23', step: 'day' }],
    ['30d' as const, { from: '2026-10-24', to: '2026-11-23', step: 'day' }],
    ['365d' as const, { from: '2025-11-23', to: '2026-11-23', step: 'month' }],
    [own('2026-11-01', '2026-11-01'), { from: '2026-11-01', to: '2026-11-02', step: 'hour' }],
    [own('2020-01-01', '2026-11-01'), { from: '2020-01-01', to: '2026-11-02', step: 'month' }],
  ])('%j', (range, expected) => {
    expect(usageRange({ range, step: undefined }, TODAY)).toMatchObject(expected)
  })

  it('uses the requested interval unless it gives too many steps', () => {
    expect(usageRange({ range: '7d', step: 'hour' }, TODAY).step).toBe('hour')
    expect(usageRange({ range: '30d', step: 'hour' }, TODAY).step).toBe('day')
    expect(usageRange({ range: '365d', step: 'day' }, TODAY).step).toBe('day')
    expect(usageRange({ range: own('2020-01-01', '2026-01-01'), step: 'day' }, TODAY).step).toBe('month')
  })

  it('always uses a possible interval', () => {
    for (const range of ['today', 'yesterday', '7d', '30d', '90d', '365d', own('2021-01-01', '2026-01-01')] as const) {
      const { step, possible } = usageRange({ range, step: undefined }, TODAY)
      expect(possible).toContain(step)
    }
  })

  it('can be widened up to a year', () => {
    expect((['today', '90d', '365d', own('2026-01-01', '2026-01-02')] as const).map(widerThan)).toEqual([
      ...['7d', '365d', undefined, '365d'],
    ])
  })
})
