import { isObject } from '../../lib/is-object.ts'
import type { Usage } from '../../model/usage.ts'
import { countOf, usageOfCounts } from '../usage-of-counts.ts'
import type { ChatDialect } from './dialects.ts'

/**
 * Usage as Chat Completions reports it: the prompt includes what was cached, the completion includes the reasoning.
 * Undefined when it is absent or not numbers; zero is a number, and is believed.
 */
export function readUsage(usage: unknown, dialect: ChatDialect): Usage | undefined {
  if (!isObject(usage)) return undefined
  const prompt = countOf(usage.prompt_tokens)
  const completion = countOf(usage.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined
  const reasoning = reasoningTokens(usage)
  return usageOfCounts({
    input: prompt,
    cached: cachedTokens(usage),
    cacheWrite: cacheWriteTokens(usage),
    output: dialect.reasoningBesideCompletion ? completion + reasoning : completion,
    reasoning,
  })
}

const detailsOf = (usage: Record<string, unknown>, name: string): Record<string, unknown> => {
  const details = usage[name]
  return isObject(details) ? details : {}
}

/** Under whichever name: OpenAI's details, DeepSeek's hit tokens, Moonshot's and Mistral's top-level counts. */
const cachedTokens = (usage: Record<string, unknown>): number =>
  countOf(detailsOf(usage, 'prompt_tokens_details').cached_tokens) ??
  countOf(usage.prompt_cache_hit_tokens) ??
  countOf(usage.cached_tokens) ??
  countOf(usage.num_cached_tokens) ??
  countOf(detailsOf(usage, 'prompt_token_details').cached_tokens) ??
  0

const cacheWriteTokens = (usage: Record<string, unknown>): number =>
  countOf(detailsOf(usage, 'prompt_tokens_details').cache_write_tokens) ?? 0

const reasoningTokens = (usage: Record<string, unknown>): number =>
  countOf(detailsOf(usage, 'completion_tokens_details').reasoning_tokens) ?? 0
