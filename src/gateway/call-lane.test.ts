import { describe, expect, it } from 'vitest'
import { requestWith } from '../../test/fixtures/protocols/responses/encoder.ts'
import { capWithin } from './call-lane.ts'

const request = requestWith({}, { model: 'm' })
const fitted = (input: number, cap: number, context = 128_000) => capWithin(context, { cap, input, request })

describe('the cap that a provider is sent', () => {
  it('is what the hold covers where input and answer fit', () => {
    expect(fitted(1000, 16_000)).toBe(16_000)
    expect(fitted(112_000, 16_000)).toBe(16_000)
  })

  it('is lowered to the room that the estimated input leaves', () => {
    expect(fitted(120_000, 16_000)).toBe(8000)
    expect(fitted(126_976, 16_000)).toBe(1024)
  })

  it('is never made up: with next to no room it goes as the hold covers it, and not as one token', () => {
    for (const input of [126_977, 127_999, 128_000, 500_000]) expect(fitted(input, 16_000), `${input}`).toBe(16_000)
    expect(fitted(127_990, 5)).toBe(5)
  })

  it('is fitted into a small context too', () => {
    expect(fitted(900, 500, 1000)).toBe(100)
    expect(fitted(990, 500, 1000)).toBe(500)
  })

  it('always leaves a summary room', () => {
    const compacting = requestWith({}, { model: 'm', compacts: 'by-trigger' })
    const summary = (input: number) => capWithin(128_000, { cap: 16_000, input, request: compacting })
    expect([summary(1000), summary(120_000), summary(127_999), summary(500_000)]).toEqual([16_000, 8000, 2048, 2048])
  })
})
