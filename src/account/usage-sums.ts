import type { z } from 'zod'
import type { UsageSums } from '../content/usage-series.ts'
import { USAGE_SUMS } from '../content/usage-series.ts'
import type { used } from '../contract/usage.ts'
import { formatUsd } from '../model/money.ts'

/** Plain arithmetic on what was used: every count and every amount for itself. */
export const NO_USAGE: UsageSums = {
  ...{ requests: 0, failed: 0, uncached_input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 },
  ...{ wallet_nano: 0n, plan_nano: 0n },
}

export const addUsed = (first: UsageSums, second: UsageSums): UsageSums => combine(first, second, 1)

export const subtractUsed = (first: UsageSums, second: UsageSums): UsageSums => combine(first, second, -1)

function combine(first: UsageSums, second: UsageSums, sign: 1 | -1): UsageSums {
  const sums: Record<string, number | bigint> = {}
  for (const sum of USAGE_SUMS) {
    const [one, other] = [first[sum], second[sum]]
    sums[sum] = typeof one === 'bigint' ? one + BigInt(sign) * BigInt(other) : one + sign * Number(other)
  }
  return sums as unknown as UsageSums
}

export const moneyOf = ({ wallet_nano, plan_nano }: UsageSums): bigint => wallet_nano + plan_nano

export type UsedView = z.output<typeof used>

export const usedView = ({ wallet_nano, plan_nano, ...counts }: UsageSums): UsedView => ({
  requests: counts.requests,
  failed: counts.failed,
  uncached_input: counts.uncached_input,
  cached_input: counts.cached_input,
  cache_write: counts.cache_write,
  output: counts.output,
  reasoning: counts.reasoning,
  wallet: formatUsd(wallet_nano),
  plan: formatUsd(plan_nano),
})
