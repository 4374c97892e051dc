import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { formatUsd } from '../../model/money.ts'
import { inputTokensOf } from '../../model/usage.ts'

/** The usage of an answer in Responses' own words, with the charge beside it: exact, as a decimal string. */
export function writeUsage({ usage, charge, tier, price }: SettledCharge): Fields {
  const input = inputTokensOf(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
    millrace: {
      charge: formatUsd(charge),
      currency: 'USD',
      tier,
      price_version: price.version,
      ...(usage.estimated ? { estimated: true } : {}),
    },
  }
}
