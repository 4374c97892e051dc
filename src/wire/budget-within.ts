/** Of the cap, so that there is room for the answer. */
const THINKING_SHARE = 3 / 4

/** Servers refuse to think with fewer tokens than this. */
export const BUDGET_MIN = 1024

/**
 * Tokens to think with under an output cap: what is thought is part of the answer, and the cap is never raised for it.
 * Undefined where the cap leaves fewer than `least` of them, unless no more were asked for.
 */
export function budgetWithin(asked: number, outputCap: number, least = BUDGET_MIN): number | undefined {
  const budget = Math.min(asked, Math.floor(outputCap * THINKING_SHARE))
  return budget < Math.min(asked, least) ? undefined : budget
}
