/** Of the cap, so that there is room for the answer. */
const THINKING_SHARE = 3 / 4

/** Tokens to think with under an output cap: what is thought is part of the answer, and the cap is never raised for it. */
export const budgetWithin = (asked: number, outputCap: number): number =>
  Math.min(asked, Math.floor(outputCap * THINKING_SHARE))
