import type { OpenTurn } from '../books/books.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { Ending, Owed } from '../model/ending.ts'
import type { Price } from '../model/price.ts'

type LostTurn = Pick<OpenTurn, 'inputEstimate' | 'cachedEstimate' | 'outputBound'>

/** What a turn owes that nobody can ask any more: its input, and the output that was marked as delivered. */
export function chargeForDelivered(turn: LostTurn, delivered: number, price: Price): Owed {
  const usage = {
    uncachedInput: turn.inputEstimate - turn.cachedEstimate,
    cachedInput: turn.cachedEstimate,
    cacheWrite: 0,
    output: Math.min(delivered, turn.outputBound),
    reasoning: 0,
    estimated: true,
  }
  return { usage, ...priceUsage(price, usage) }
}

/** Of a turn that nobody can ask any more how it went. */
export const recoveredEnding = (owed: Owed | undefined): Ending => ({
  outcome: 'recovered',
  owed,
  lane: undefined,
  attempts: [],
  firstByteMs: undefined,
  totalMs: 0,
  compaction: undefined,
  kept: false,
})
