import { type InputUsage, inputTokensOf, type MeteredUsage, type Usage } from '../model/usage.ts'

/** No model reads more, unless the catalogue says so: a provider that counts more input than this has miscounted. */
const INPUT_TOKENS_BELIEVED = 10_000_000

/** A count of input beyond the request's own bound is believed, as long as some model can have read that much. */
export const inputWithin = (counted: InputUsage, inputBound: number, contextTokens = 0): number => {
  const believed = Math.max(inputBound, contextTokens, INPUT_TOKENS_BELIEVED)
  return inputTokensOf(counted) <= believed ? believed : inputBound
}

/** What the request can physically have used. */
export interface UsageBounds {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * A provider's count beyond the physical bound is a fault of the provider, not a debt of the client: it is cut to the
 * bound and flagged as an estimate. Counts that contradict their own total are flagged too.
 */
export function clampUsage({ doubtful, ...usage }: Usage, bounds: UsageBounds): MeteredUsage {
  const inputFits = inputTokensOf(usage) <= bounds.inputTokens
  const outputFits = usage.output <= bounds.outputTokens
  if (inputFits && outputFits) return { ...usage, estimated: doubtful === true }
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
