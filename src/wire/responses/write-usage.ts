import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { inputTokensOf } from '../../model/usage.ts'
import { toldCharge } from '../told-charge.ts'

/** The usage of an answer in Responses' own words, with the charge beside it. */
export function writeUsage(settled: SettledCharge): Fields {
  const { usage } = settled
  const input = inputTokensOf(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
    millrace: toldCharge(settled),
  }
}
