import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Usage } from '../../model/usage.ts'
import { agreeWithTotal, countOf, usageOfCounts } from '../reported-counts.ts'

/**
 * Usage as Responses reports it: the input includes what was cached, the output includes the reasoning. Undefined when it
 * is absent or not numbers; details that are absent are zero.
 */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const input = countOf(usage.input_tokens)
  const output = countOf(usage.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const details = detailsOf(usage.input_tokens_details)
  const counts = {
    input,
    cached: countOf(details.cached_tokens) ?? 0,
    cacheWrite: countOf(details.cache_write_tokens) ?? 0,
    output,
    reasoning: countOf(detailsOf(usage.output_tokens_details).reasoning_tokens) ?? 0,
  }
  return usageOfCounts(agreeWithTotal(counts, { total: countOf(usage.total_tokens), beside: [] }))
}

const detailsOf = (details: unknown): Fields => (isObject(details) ? details : {})
