import type { OpenTurn } from '../books/books.ts'
import type { TurnCharge } from '../books/close-turn.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { Price } from '../model/price.ts'

type LostTurn = Pick<OpenTurn, 'inputEstimate' | 'cachedEstimate' | 'outputBound'>

/** What a turn owes that nobody can ask any more: its input, and the output that was marked as delivered. */
export function chargeForDelivered(turn: LostTurn, delivered: number, price: Price): TurnCharge {
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
