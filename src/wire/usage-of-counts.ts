import type { Usage } from '../model/usage.ts'

/** Tokens as providers report them: the input includes what was cached, the output includes the reasoning. */
export interface ReportedCounts {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}

/** The same in classes that do not overlap, whatever a provider may have mixed up. */
export function usageOfCounts({ input, cached, cacheWrite, output, reasoning }: ReportedCounts): Usage {
  const cachedInput = Math.min(cached, input)
  const written = Math.min(cacheWrite, input - cachedInput)
  return {
    cachedInput,
    cacheWrite: written,
    uncachedInput: input - cachedInput - written,
    output,
    reasoning: Math.min(reasoning, output),
  }
}

/** A count of tokens; undefined when it is none. Zero is a number, and is believed. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined
