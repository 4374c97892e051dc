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

/** Of one answer, in one class: no model reads or writes a thousandth of it. What is more is as much as this, so that sums stay numbers. */
const TOKENS_MAX = 1_000_000_000

/** A count of tokens; undefined when it is none. Zero is a number, and is believed. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value) ? Math.min(Math.ceil(value), TOKENS_MAX) : undefined
