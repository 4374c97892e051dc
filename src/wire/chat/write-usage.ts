import { inputTokensOf, type MeteredUsage } from '../../model/usage.ts'

/** What the turn cost, as the client is told: exact, as a decimal string. */
export interface ToldCharge {
  readonly charge: string
  readonly currency: 'USD'
  readonly tier: number
  readonly price_version: number
}

/** The usage of an answer in Chat's own words, with the charge beside it. */
export function writeUsage(usage: MeteredUsage, charge: ToldCharge): Record<string, unknown> {
  const prompt = inputTokensOf(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    millrace: { ...charge, ...(usage.estimated ? { estimated: true } : {}) },
  }
}
