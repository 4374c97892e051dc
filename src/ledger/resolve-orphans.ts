import type { OpenTurn } from '../books/books.ts'
import { readEnding } from '../model/ending.ts'
import type { Price } from '../model/price.ts'
import { chargeForDelivered, recoveredEnding } from './charge-for-delivered.ts'
import type { LedgerCore } from './core.ts'
import type { FoundFacts } from './ledger.ts'
import { type RecordedEnd, recordEnd } from './record.ts'
import { loadPrice } from './record-prices.ts'

/**
 * Ends every hold that nobody attends: after a crash all of them, while running those whose turn was lost by a fault of
 * our own. An answer that was already kept is charged as it would have been. Of any other, what was marked
 * as delivered is charged with its input, and what was not is given back. Returns how many are durably resolved; what was
 * lost is found again by the next sweep.
 */
export async function resolveOrphans(core: LedgerCore): Promise<number> {
  const found = orphansOf(core)
  const asked = new Set(found.map(({ requestId }) => requestId))
  const prices = await loadPrices(core, found)
  const kept = await core.findKeptFacts(found.map(({ requestId }) => requestId))
  // Nothing waits from here to the last enqueue. What the books lost or gained while others were asked is seen here: a
  // hold that nobody asked about waits for the next sweep.
  if (!core.gate.open) return 0
  const recorded = orphansOf(core).flatMap((turn) => {
    const price = prices.get(priceName(turn))
    return price && asked.has(turn.requestId) ? [resolve(core, turn, price, kept.get(turn.requestId))] : []
  })
  // One wait for all of them: after a crash under load there are thousands, and they share a few commits.
  return (await Promise.all(recorded)).filter(({ kind }) => kind === 'recorded').length
}

const orphansOf = (core: LedgerCore): OpenTurn[] =>
  [...core.books.turns.values()].filter(
    ({ requestId }) => !core.attended.has(requestId) && !core.journaled.has(requestId),
  )

function resolve(core: LedgerCore, turn: OpenTurn, price: Price, kept: FoundFacts | undefined): Promise<RecordedEnd> {
  const { requestId } = turn
  // The answer is whole, and can still be had: only its charge was missing.
  if (kept !== undefined) {
    return recordEnd(core, { requestId, ending: { ...readEnding(kept.facts), kept: kept.givenAgain } })
  }
  // Where nothing was marked, nothing was delivered but perhaps in the last interval: that is given back whole.
  const delivered = core.marks.get(turn.receipt)
  const owed = delivered === undefined ? undefined : chargeForDelivered(turn, delivered, price)
  return recordEnd(core, { requestId, ending: recoveredEnding(owed) })
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
