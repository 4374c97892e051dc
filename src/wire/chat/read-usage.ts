import type { Usage } from '../../model/usage.ts'
import { isObject } from './check-fields.ts'

/**
 * Usage as Chat Completions reports it: the prompt includes what was cached, the completion includes the reasoning.
 * Undefined when it is absent or not numbers; zero is a number, and is believed.
 */
export function readUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const prompt = countOf(usage.prompt_tokens)
  const completion = countOf(usage.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined
  const promptDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const completionDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  const cachedInput = Math.min(countOf(promptDetails.cached_tokens) ?? 0, prompt)
  const cacheWrite = Math.min(countOf(promptDetails.cache_write_tokens) ?? 0, prompt - cachedInput)
  return {
    cachedInput,
    cacheWrite,
    uncachedInput: prompt - cachedInput - cacheWrite,
    output: completion,
    reasoning: Math.min(countOf(completionDetails.reasoning_tokens) ?? 0, completion),
  }
}

const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined
