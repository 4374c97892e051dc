import { inputTokensOf, type MeteredUsage, type Usage } from '../model/usage.ts'

/** What the request can physically have used. */
export interface UsageBounds {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * A provider's count beyond the physical bound is a fault of the provider, not a debt of the client: it is cut to the
 * bound and flagged as an estimate.
 */
export function clampUsage(usage: Usage, bounds: UsageBounds): MeteredUsage {
  const inputFits = inputTokensOf(usage) <= bounds.inputTokens
  const outputFits = usage.output <= bounds.outputTokens
  if (inputFits && outputFits) return { ...usage, estimated: false }
  const cachedInput = Math.min(usage.cachedInput, bounds.inputTokens)
  const cacheWrite = Math.min(usage.cacheWrite, bounds.inputTokens - cachedInput)
  const output = Math.min(usage.output, bounds.outputTokens)
  return {
    cachedInput,
    cacheWrite,
    uncachedInput: Math.min(usage.uncachedInput, bounds.inputTokens - cachedInput - cacheWrite),
    output,
    reasoning: Math.min(usage.reasoning, output),
    estimated: true,
  }
}
