import { isObject } from '../../lib/types.ts'
import type { Usage } from '../../model/usage.ts'
import { countOf, usageOfCounts } from '../shared/stream-state.ts'

/** The counts of an answer so far. They grow with it: of each the last one counts, and a chunk may leave some of them out. */
export interface GeminiCounts {
  readonly prompt: number | undefined
  readonly toolPrompt: number | undefined
  readonly cached: number | undefined
  readonly candidates: number | undefined
  readonly thoughts: number | undefined
  /** Only ever of the same chunk as the last count: a sum of older ones says nothing. */
  readonly total: number | undefined
}

export const NO_COUNTS: GeminiCounts = {
  prompt: undefined,
  toolPrompt: undefined,
  cached: undefined,
  candidates: undefined,
  thoughts: undefined,
  total: undefined,
}

export function readCounts(before: GeminiCounts, metadata: unknown): GeminiCounts {
  if (!isObject(metadata)) return before
  return {
    prompt: countOf(metadata.promptTokenCount) ?? before.prompt,
    toolPrompt: countOf(metadata.toolUsePromptTokenCount) ?? before.toolPrompt,
    cached: countOf(metadata.cachedContentTokenCount) ?? before.cached,
    candidates: countOf(metadata.candidatesTokenCount) ?? before.candidates,
    thoughts: countOf(metadata.thoughtsTokenCount) ?? before.thoughts,
    total: countOf(metadata.totalTokenCount),
  }
}

/**
 * The whole usage; undefined where the input, or the output of an answer that has said something, was not counted. The total
 * is the provider's own sum, and what it has beyond the input is the output: it covers a class that was left out, and one
 * that was counted in another too. Where no class was left out, what the total has more is explained by nothing, and makes
 * the counts doubtful. A total that does not even cover the input is none.
 */
export function usageOf(counts: GeminiCounts, hasSpoken: boolean): Usage | undefined {
  const { candidates, thoughts, total, cached = 0 } = counts
  const classes = (candidates ?? 0) + (thoughts ?? 0)
  const input = inputOf(counts)
  if (input === undefined) return undefined
  const beyondInput = total === undefined || total < input ? undefined : total - input
  const isCounted = candidates !== undefined || thoughts !== undefined || (beyondInput ?? 0) > 0
  if (hasSpoken && !isCounted) return undefined
  const isUnexplained = candidates !== undefined && thoughts !== undefined && (beyondInput ?? 0) > classes
  const told = { input, cached, cacheWrite: 0, reasoning: thoughts ?? 0 }
  return isUnexplained
    ? usageOfCounts({ ...told, output: classes, doubtful: true })
    : usageOfCounts({ ...told, output: beyondInput ?? classes })
}

/** What tools that the provider runs have read is input like the rest. Zero is left out of JSON, so one of both is enough. */
export function inputOf({ prompt, toolPrompt, candidates, thoughts, total }: GeminiCounts): number | undefined {
  if (prompt !== undefined || toolPrompt !== undefined) return (prompt ?? 0) + (toolPrompt ?? 0)
  if (total === undefined || candidates === undefined) return undefined
  const rest = total - candidates - (thoughts ?? 0)
  return rest < 0 ? undefined : rest
}
