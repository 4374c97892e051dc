import type { Fields } from '../../lib/is-object.ts'
import { formatUsd } from '../../model/money.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import { inputTokensOf } from '../../model/usage.ts'

/** The usage of a response in its own words, with the charge beside it. */
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
