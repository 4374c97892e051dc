import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { inputTokensOf } from '../../model/usage.ts'
import { toldCharge } from '../told-charge.ts'

/** The usage of an answer in Chat's own words, with the charge beside it. */
export function writeUsage(settled: SettledCharge): Fields {
  const { usage } = settled
  const prompt = inputTokensOf(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    millrace: toldCharge(settled),
  }
}
