import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import { chargedValues, factorOf, heldAmountFor, PRICED_FIELDS, type Price, type PricedValues } from '../model/price.ts'
import { clampUsage, holdTermsFor, INPUT_TOKENS_BELIEVED, inputBound, priceUsage } from './price.ts'

const tokenPrice = fc.bigInt({ min: 0n, max: 100_000_000n }).map((pico) => pico as PicoPerToken)
const tokenPrices = fc.record({
  input: tokenPrice,
  cachedInput: tokenPrice,
  cacheWrite: tokenPrice,
  output: tokenPrice,
})
const prices: fc.Arbitrary<Price> = fc
  .record({
    base: tokenPrices,
    perRequest: fc.bigInt({ min: 0n, max: 1_000_000n }),
    tiers: fc.uniqueArray(fc.record({ aboveInputTokens: fc.integer({ min: 1, max: 300_000 }), tokenPrices }), {
      maxLength: 3,
      selector: (tier) => tier.aboveInputTokens,
    }),
  })
  .map(({ base, perRequest, tiers }) => ({
    ...base,
    version: 1,
    perRequest: perRequest as NanoUsd,
    tiers: tiers
      .map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...tier.tokenPrices }))
      .sort((a, b) => a.aboveInputTokens - b.aboveInputTokens),
  }))

describe('the ceiling of a turn', () => {
  it('covers every usage that stays within the bounds, in every class and tier', () => {
    const seed = 4600
    const count = fc.integer({ min: 0, max: 400_000 })
    let tiered = 0
    let clamped = 0
    fc.assert(
      fc.property(
        prices,
        fc.integer({ min: 1, max: 350_000 }),
        fc.integer({ min: 1, max: 128_000 }),
        fc.integer({ min: 1, max: 4 }),
        count,
        count,
        count,
        count,
        (price, bound, cap, choices, ...counts) => {
          const [uncachedInput, cachedInput, cacheWrite, output] = counts as [number, number, number, number]
          const reported = { uncachedInput, cachedInput, cacheWrite, output, reasoning: 0 }
          // Input beyond the bound is cut to it only where no model can have read that much.
          if (uncachedInput + cachedInput + cacheWrite > bound) reported.cacheWrite += INPUT_TOKENS_BELIEVED
          const usage = clampUsage(reported, { inputBound: bound, outputBound: cap * choices })
          const { cost, tier } = priceUsage(price, usage)
          if (tier > 0) tiered++
          if (usage.estimated) clamped++
          expect(cost).toBeLessThanOrEqual(heldAmountFor(holdTermsFor(price, bound, choices), cap))
          expect(cost).toBeGreaterThanOrEqual(0n)
        },
      ),
      { seed, numRuns: 5000 },
    )
    console.info(`ceiling: seed ${seed}, 5000 usages, ${tiered} in a tier, ${clamped} clamped`)
    expect(tiered).toBeGreaterThan(500)
    expect(clamped).toBeGreaterThan(500)
  })

  it('bounds the input by bytes, and never by the context that the catalogue promises', () => {
    const inputSize = { bodyBytes: 1000, inputBytes: 900, messages: 2, tools: 1 }
    const words = { inputSize, otherInputs: [] }
    const model = { contextTokens: 200_000, bytesPerToken: 4, inputTokensMax: {} }
    expect(inputBound(words, model)).toBe(1000 + 2 * 8 + 1024 + 16 + 64)
    expect(inputBound(words, { ...model, contextTokens: 500 })).toBe(1000 + 2 * 8 + 1024 + 16 + 64)
  })
})

describe('multipliers', () => {
  const VALUES = [undefined, 'flex', 'priority', 'default', 'unheard-of'] as const
  const factor = fc.bigInt({ min: 1n, max: 10_000_000n })
  const value = fc.constantFrom(...VALUES)
  const asked = fc.record({ service_tier: value, inference_geo: value }).map(told)
  const multiplied = fc.tuple(prices, factor, factor, factor).map(([price, flex, priority, us]) => ({
    ...price,
    multipliers: { service_tier: { flex, priority }, inference_geo: { flex: us, priority: us } },
  }))

  function told(values: Readonly<Record<string, string | undefined>>): PricedValues {
    return Object.fromEntries(Object.entries(values).filter(([, each]) => each !== undefined))
  }

  it('never cost more than the hold, and are rounded up once', () => {
    const seed = 4601
    const count = fc.integer({ min: 0, max: 100_000 })
    let dearer = 0
    let cheaper = 0
    fc.assert(
      fc.property(multiplied, asked, asked, count, count, (price, wanted, served, uncachedInput, output) => {
        const usage = { uncachedInput, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 }
        const values = chargedValues(price, wanted, served)
        const { cost } = priceUsage(price, usage, values)
        const base = priceUsage(price, usage).cost
        if (cost > base) dearer++
        if (cost < base) cheaper++
        expect(cost).toBeLessThanOrEqual(heldAmountFor(holdTermsFor(price, uncachedInput, 1, wanted), output))
        // The exact rational product, rounded up once.
        const factors = PRICED_FIELDS.map((field) => factorOf(price.multipliers, field, values?.[field]))
        const pico = (base - price.perRequest) * 1000n
        const most = factors.reduce((product, each) => (product * each + 999_999n) / 1_000_000n, pico)
        expect((cost - price.perRequest) * 1000n).toBeLessThanOrEqual(most + 1000n)
      }),
      { seed, numRuns: 3000 },
    )
    console.info(`multipliers: seed ${seed}, ${dearer} dearer, ${cheaper} cheaper`)
    expect(Math.min(dearer, cheaper)).toBeGreaterThan(300)
  })

  it('are charged by what was served, within what was asked for', () => {
    const price = { multipliers: { service_tier: { flex: 500_000n, priority: 2_000_000n, fast: 3_000_000n } } }
    const charged = (wanted?: string, served?: string) =>
      chargedValues(
        price,
        wanted === undefined ? undefined : { service_tier: wanted },
        served === undefined ? undefined : { service_tier: served },
      )?.service_tier
    expect(charged()).toBeUndefined()
    expect(charged('priority')).toBe('priority')
    expect(charged('priority', 'standard')).toBeUndefined()
    expect(charged('priority', 'flex')).toBe('flex')
    expect(charged('priority', 'fast')).toBe('priority')
    expect(charged('flex', 'priority')).toBeUndefined()
    expect(charged(undefined, 'priority')).toBeUndefined()
    expect(charged(undefined, 'flex')).toBe('flex')
    expect(charged('flex', 'scale')).toBe('flex')
    expect(charged('priority', 'constructor')).toBe('priority')
    expect(factorOf(price.multipliers, 'service_tier', '__proto__')).toBe(1_000_000n)
  })

  it('multiply tokens and not the price of a request, rounded up once', () => {
    const price: Price = {
      ...{ version: 1, input: 1n as PicoPerToken, cachedInput: 1n as PicoPerToken, cacheWrite: 1n as PicoPerToken },
      ...{ output: 0n as PicoPerToken, perRequest: 7n as NanoUsd, tiers: [] },
      multipliers: { service_tier: { a: 1_000_001n }, speed: { b: 999_999n } },
    }
    const usage = { uncachedInput: 1_000_000, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    // 1,000,000 pico × 1.000001 × 0.999999 = 999,999.999999 pico, which is 1,000 nano rounded up once.
    expect(priceUsage(price, usage, { service_tier: 'a', speed: 'b' }).cost).toBe(1007n)
    expect(priceUsage(price, usage, { service_tier: 'a' }).cost).toBe(1008n)
  })
})

describe('priceUsage', () => {
  const flat = (pico: bigint): Price => ({
    version: 1,
    input: pico as PicoPerToken,
    cachedInput: (pico / 10n) as PicoPerToken,
    cacheWrite: pico as PicoPerToken,
    output: (pico * 5n) as PicoPerToken,
    perRequest: 0n as NanoUsd,
    tiers: [],
  })

  it('prices each class once, and rounds up once', () => {
    const usage = { uncachedInput: 100, cachedInput: 50, cacheWrite: 0, output: 7, reasoning: 3 }
    // 100 × 3 + 50 × 0.3 + 7 × 15 micro-dollars = 420 micro-dollars
    expect(priceUsage(flat(3_000_000n), usage).cost).toBe(420_000n)
  })

  it('takes the tier by the total input, one token above the threshold', () => {
    const price: Price = { ...flat(1_000_000n), tiers: [{ aboveInputTokens: 200, ...flat(2_000_000n) }] }
    const at = (uncachedInput: number) =>
      priceUsage(price, { uncachedInput, cachedInput: 100, cacheWrite: 0, output: 0, reasoning: 0 })
    expect(at(100).tier).toBe(0)
    expect(at(101)).toEqual({ tier: 200, cost: 101n * 2000n + 100n * 200n })
  })
})
