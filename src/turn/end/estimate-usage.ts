import { clampUsage, inputWithin } from '../../metering/clamp-usage.ts'
import type { LaneRate } from '../../metering/lane-rates.ts'
import { type InputUsage, inputTokensOf, type MeteredUsage, type Usage } from '../../model/usage.ts'
import type { Produced } from '../lane/run.ts'

/** What an estimate rests on, beside what was seen of the answer. */
export interface EstimateBounds {
  readonly bytesPerToken: number
  readonly inputBound: number
  /** What the input is taken for by the catalogue's ratio. */
  readonly inputEstimate: number
  /** The part of the input that the provider had seen just before, in tokens. */
  readonly cachedEstimate: number
  readonly outputBound: number
  /** What was learned of the lane. */
  readonly rate: LaneRate
}

/**
 * What an answer is taken for whose final count did not come: its input by the provider's number where that was told, its
 * output by what was seen of it, and never for less than what the provider had counted when it last told.
 */
export function estimateUsage(produced: Produced, bounds: EstimateBounds): MeteredUsage {
  const { usageSoFar, inputCounted } = produced
  const input = usageSoFar && inputTokensOf(usageSoFar) > 0 ? inputOf(usageSoFar) : inputCounted
  const estimate = { ...(input ?? estimatedInput(bounds)), ...estimatedOutput(produced, bounds) }
  const within = { inputTokens: inputWithin(estimate, bounds.inputBound), outputTokens: bounds.outputBound }
  return { ...clampUsage(estimate, within), estimated: true }
}

function estimatedOutput(produced: Produced, { rate, bytesPerToken }: EstimateBounds) {
  const { usageSoFar, countedBytes = 0, outputBytes } = produced
  if (usageSoFar === undefined) return rate.outputOf(produced, bytesPerToken)
  const counted = rate.wordTokens({ outputBytes: countedBytes }, bytesPerToken)
  // A count that goes along with the answer tells more than its bytes: only what came since is estimated.
  if (counted > 0 && usageSoFar.output * 2 >= counted) {
    const since = rate.wordTokens({ outputBytes: outputBytes - countedBytes }, bytesPerToken)
    return { output: usageSoFar.output + since, reasoning: usageSoFar.reasoning }
  }
  const { output, reasoning } = rate.outputOf(produced, bytesPerToken)
  return { output: Math.max(output, usageSoFar.output), reasoning: Math.max(reasoning, usageSoFar.reasoning) }
}

const inputOf = ({ uncachedInput, cachedInput, cacheWrite }: Usage): InputUsage => ({
  uncachedInput,
  cachedInput,
  cacheWrite,
})

function estimatedInput({ inputEstimate, cachedEstimate, rate }: EstimateBounds): InputUsage {
  const input = rate.inputTokens(inputEstimate)
  const cachedInput = Math.min(rate.inputTokens(cachedEstimate), input)
  return { uncachedInput: input - cachedInput, cachedInput, cacheWrite: 0 }
}
