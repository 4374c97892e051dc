import { priceUsage } from '../../metering/price-usage.ts'
import type { Produced, Run } from '../lane/run.ts'
import type { RunningTurn } from '../running-turn.ts'
import { estimateUsage } from './estimate-usage.ts'
import type { EndingBounds, Resolution } from './resolve-ending.ts'

/**
 * A whole answer with true usage shows what an estimate of it would have been worth, and what the next ones shall rest on.
 * Returns how far the estimated charge would have been from the true one, in proportion; undefined where there is nothing to
 * compare.
 */
export function learnFromTurn(
  { request }: RunningTurn,
  { fate }: Run,
  { owed }: Resolution,
  bounds: EndingBounds,
): number | undefined {
  if (fate.kind !== 'finished' || owed === undefined || owed.usage.estimated) return undefined
  const error = errorOf(fate.used, Number(owed.cost), bounds)
  // The data of pictures and files says nothing of how many tokens words are.
  const inputTaken = request.otherInputs.length === 0 ? bounds.inputEstimate : 0
  bounds.rate.learn(fate.used, owed.usage, { bytesPerToken: bounds.bytesPerToken, inputTaken })
  return error
}

function errorOf(used: Produced, trueCost: number, bounds: EndingBounds): number | undefined {
  if (trueCost === 0) return undefined
  // While an answer in one piece is being made, nothing is seen of its words.
  const isWhole = used.wholeMs !== undefined
  const seen = { ...used, usage: undefined, ...(isWhole ? { outputBytes: 0, calls: 0 } : {}) }
  const estimate = estimateUsage(seen, bounds)
  if (isWhole && estimate.output === 0) return undefined
  return Number(priceUsage(bounds.price, estimate).cost) / trueCost - 1
}
