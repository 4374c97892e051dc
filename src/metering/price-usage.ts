import { type NanoUsd, nanoFromPico } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import { inputTokensOf, type Usage } from '../model/usage.ts'

/** What the usage costs, and which tier it fell into (its threshold; 0 for the base price). Rounded up once, at the end. */
export function priceUsage(price: Price, usage: Usage): { readonly cost: NanoUsd; readonly tier: number } {
  const total = inputTokensOf(usage)
  const tier = price.tiers.findLast((candidate) => total > candidate.aboveInputTokens)
  return { cost: (picoCost(tier ?? price, usage) + price.perRequest) as NanoUsd, tier: tier?.aboveInputTokens ?? 0 }
}

const picoCost = (rates: Rates, usage: Usage): bigint =>
  nanoFromPico(
    BigInt(usage.uncachedInput) * rates.input +
      BigInt(usage.cachedInput) * rates.cachedInput +
      BigInt(usage.cacheWrite) * rates.cacheWrite +
      BigInt(usage.output) * rates.output,
  )
