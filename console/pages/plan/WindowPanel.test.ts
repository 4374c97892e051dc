import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimalOf } from '../../lib/money.ts'
import { type WindowRow, windowSums } from './WindowPanel.tsx'

const rowOf = (state: WindowRow['state'], hold: string, charge: string | null): WindowRow => ({
  ...{ id: 'req_1', state, outcome: null, opened_at: '2026-11-22T00:00:00Z', closed_at: null, model: 'm', lane: null },
  ...{ key: { id: 'key_1', name: 'k' }, kind: 'builder', tokens: null, first_byte_ms: null, total_ms: null },
  ...{ hold, charge },
})

describe('windowSums', () => {
  it('adds charges of ended and holds of running requests exactly', () => {
    const amounts = fc.bigInt({ min: 0n, max: 10n ** 15n })
    const parts = fc.array(fc.tuple(amounts, fc.boolean()), { maxLength: 50 })
    fc.assert(
      fc.property(parts, (given) => {
        const rows = given.map(([nano, runs]) =>
          runs ? rowOf('open', decimalOf(nano), null) : rowOf('settled', '9.99', decimalOf(nano)),
        )
        const sumOf = (runs: boolean) =>
          decimalOf(given.filter(([, each]) => each === runs).reduce((sum, [nano]) => sum + nano, 0n))
        const window = { used: sumOf(false), held: sumOf(true) }
        expect(windowSums(window, rows, { hasMore: false })).toEqual({ ...window, verdict: 'agrees' })
      }),
    )
  })

  it('ignores released holds', () => {
    const rows = [rowOf('released', '3.00', '0.00'), rowOf('released', '3.00', null)]
    expect(windowSums({ used: '0.00', held: '0.00' }, rows, { hasMore: false }).verdict).toBe('agrees')
  })

  it('reports a mismatch only when all rows are loaded', () => {
    const rows = [rowOf('settled', '1.00', '0.25')]
    const window = { used: '0.250000001', held: '0.00' }
    expect(windowSums(window, rows, { hasMore: false }).verdict).toBe('moved')
    expect(windowSums(window, rows, { hasMore: true }).verdict).toBe('partly')
  })
})
