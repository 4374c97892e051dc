import type { OpenTurn } from '../books/books.ts'
import { closeTurn, type TurnCharge } from '../books/close-turn.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { Price } from '../model/price.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import { loadPrice } from './record-prices.ts'

/**
 * Ends every hold that nobody attends: after a crash all of them, while running those whose turn was lost by a fault of
 * our own. What was marked as delivered is charged with its input; what was not is given back. Returns how many are
 * durably resolved; what was lost is found again by the next sweep.
 */
export async function resolveOrphans(core: LedgerCore): Promise<number> {
  const prices = await loadPrices(core, orphansOf(core))
  // Nothing waits from here to the last enqueue. What the books lost or gained while prices were read is seen here: a
  // hold whose price was not asked for waits for the next sweep.
  if (!core.gate.open) return 0
  const recorded = orphansOf(core).flatMap((turn) => {
    const price = prices.get(priceName(turn))
    return price ? [resolve(core, turn, price)] : []
  })
  // One wait for all of them: after a crash under load there are thousands, and they share a few commits.
  return (await Promise.all(recorded)).filter((durability) => durability === 'durable').length
}

const orphansOf = (core: LedgerCore): OpenTurn[] =>
  [...core.books.turns.values()].filter(
    ({ requestId }) => !core.attended.has(requestId) && !core.journaled.has(requestId),
  )

async function resolve(core: LedgerCore, turn: OpenTurn, price: Price): Promise<Durability> {
  const closed = closeTurn(core.books, {
    requestId: turn.requestId,
    charge: chargeForDelivered(core, turn, price),
    outcome: 'recovered',
    lane: undefined,
    firstByteMs: undefined,
    totalMs: 0,
    attempts: '[]',
    kept: false,
    at: core.now(),
    ticks: core.ticks(),
  })
  if (closed.kind === 'not-open') return 'lost'
  const recorded = core.batcher.enqueue(closed.changes)
  core.shelf.keepUntil(turn.account, recorded)
  const durability = await recorded
  // What was lost is resolved again, and needs its progress then.
  if (durability === 'durable') core.marks.forget(turn.receipt)
  return durability
}

const priceName = ({ model, priceVersion }: OpenTurn): string => `${priceVersion} ${model}`

async function loadPrices(core: LedgerCore, turns: readonly OpenTurn[]): Promise<Map<string, Price>> {
  const prices = new Map<string, Price>()
  for (const turn of turns) {
    const name = priceName(turn)
    if (!prices.has(name)) prices.set(name, await loadPrice(core.db, turn.model, turn.priceVersion))
  }
  return prices
}

function chargeForDelivered(core: LedgerCore, turn: OpenTurn, price: Price): TurnCharge | undefined {
  const delivered = core.marks.get(turn.receipt)
  if (delivered === undefined) return undefined
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
