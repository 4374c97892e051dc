import { describe, expect, it } from 'vitest'
import { readRetryAfter } from './upstream-answer.ts'

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0)

describe('readRetryAfter', () => {
  it.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': ' 3 ' }, 3000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:05 GMT' }, 5000],
    [{ 'retry-after': '9', 'retry-after-ms': '1500' }, 1500],
    [{ 'retry-after': '864000' }, 600_000],
    [{ 'retry-after': '0' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': 'Fri, 20 Nov 2020 12:00:05 GMT' }, undefined],
    [{ 'retry-after': '1e9' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{}, undefined],
  ])('%j is a wait of %s ms', (headers, wait) => {
    expect(readRetryAfter(headers, NOW)).toBe(wait)
  })
})
