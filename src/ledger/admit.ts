import { type AdmitRequest, admitTurn } from '../books/admit-turn.ts'
import { availableIn } from '../books/books.ts'
import { standingsOf } from '../books/turn-limits.ts'
import type { LimitStanding } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import { createAdmittedTurn } from './admitted-turn.ts'
import type { LedgerCore } from './core.ts'
import type { Admission } from './ledger.ts'
import { record } from './record.ts'

/** With room for this many more turns of the same size, asking the provider before the commit risks nothing. */
const COMFORTABLE_TURNS = 20

/** Limits and hold in one step; what was decided joins the batch that is about to be recorded. */
export async function admit(core: LedgerCore, request: AdmitRequest): Promise<Admission> {
  const { account } = request
  for (let loading = core.shelf.load(account); loading; loading = core.shelf.load(account)) await loading
  // From here to the enqueue nothing waits: the gate that was seen open is the one behind which the books are changed.
  if (!core.gate.open) return { kind: 'refused', refusal: { kind: 'unavailable' }, standings: [] }
  const ticks = core.ticks()
  const op = { ...request, at: core.now(), ticks }
  const outcome = admitTurn(core.books, op)
  const standings = standingsOf(core.books, request.limits, ticks)
  if (outcome.kind !== 'held') return { kind: 'refused', refusal: outcome, standings }
  return createAdmittedTurn(core, {
    requestId: request.requestId,
    account,
    receipt: outcome.receipt,
    cap: outcome.cap,
    hold: outcome.hold,
    standings,
    overlap: isComfortable(core, op, outcome.hold, standings),
    durable: record(core, account, outcome.changes),
  })
}

/**
 * Far from every edge, of the money and of each limit. What this turn took is taken already. A request with
 * an idempotency key always waits: the provider must not be asked before nobody else can have taken it.
 */
function isComfortable(
  core: LedgerCore,
  { requestId, limits, claim }: AdmitRequest,
  hold: NanoUsd,
  standings: readonly LimitStanding[],
): boolean {
  if (claim) return false
  const rooms = core.books.turns.get(requestId)?.buckets.map(availableIn) ?? []
  if (rooms.some((room) => room < hold * BigInt(COMFORTABLE_TURNS))) return false
  return standings.every(({ remaining }, index) => remaining >= (limits[index]?.cost ?? 0) * COMFORTABLE_TURNS)
}
