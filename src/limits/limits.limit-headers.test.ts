import { describe, expect, it } from 'vitest'
import type { LimitStatus } from '../model/caller.ts'
import { limitHeaders } from './limits.ts'

const standing = (changes: Partial<LimitStatus>): LimitStatus => ({
  kind: 'requests',
  limit: 60,
  remaining: 59,
  resetMs: 1000,
  ...changes,
})

describe('limitHeaders', () => {
  it.each([
    [0, '0s'],
    [0.2, '1ms'],
    [12, '12ms'],
    [999.4, '1s'],
    [1000, '1s'],
    [1234, '1.3s'],
    [59_900, '59.9s'],
    [59_950, '1m0s'],
    [60_000, '1m0s'],
    [119_500, '1m59.5s'],
    [119_990, '2m0s'],
    [360_000, '6m0s'],
    [3_599_950, '1h0m0s'],
    [3_723_400, '1h2m3.4s'],
    [90_000_000, '25h0m0s'],
  ])('%d ms until all is back is written %s', (resetMs, written) => {
    expect(limitHeaders([standing({ resetMs })])['x-ratelimit-reset-requests']).toBe(written)
  })

  it('says nothing of a kind that has no limit, nor of how many run at once', () => {
    expect(limitHeaders([])).toEqual({})
    expect(limitHeaders([standing({ kind: 'concurrent' })])).toEqual({})
  })

  it('tells the one of several limits of a kind that has the least left', () => {
    const tight = standing({ kind: 'tokens', limit: 500, remaining: 3, resetMs: 30_000 })
    expect(limitHeaders([standing({ kind: 'tokens', limit: 90, remaining: 4 }), tight, standing({})])).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-limit-tokens': '500',
      'x-ratelimit-remaining-tokens': '3',
      'x-ratelimit-reset-tokens': '30s',
    })
  })
})
