import { type AdmitRequest, admitTurn } from '../books/admit-turn.ts'
import { availableIn } from '../books/books.ts'
import { roomUnder } from '../books/spend-counters.ts'
import { lookAtLimits, standingsOf, startUnderLimits } from '../books/turn-limits.ts'
import type { AppliedLimit, LimitStanding } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import { createAdmittedTurn } from './admitted-turn.ts'
import type { LedgerCore } from './core.ts'
import type { Admission, JudgedRights, TakenRequest } from './ledger.ts'
import { record } from './record.ts'

/** With room for this many more turns of the same size, asking the provider before the commit risks nothing. */
const COMFORTABLE_TURNS = 20

/** Limits and hold in one step; what was decided joins the batch that is about to be recorded. */
export const admit = (core: LedgerCore, request: AdmitRequest, judged?: JudgedRights): Promise<Admission> =>
  core.shelf.withBooks(request.account, () => decide(core, request, judged))

function decide(core: LedgerCore, request: AdmitRequest, judged: JudgedRights | undefined): Admission {
  // The account may have been read from the file meanwhile: whoever lost their rights in that time is judged again.
  if (judged && judged.rights.changes !== judged.at)
    return { kind: 'refused', refusal: { kind: 'rights-changed' }, standings: [] }
  // From here to the enqueue nothing waits: the gate that was seen open is the one behind which the books are changed.
  if (!core.gate.open) return { kind: 'refused', refusal: { kind: 'unavailable' }, standings: [] }
  const { requestId, account, limits } = request
  const ticks = core.ticks()
  const outcome = admitTurn(core.books, { ...request, at: core.now(), ticks })
  const standings = standingsOf(core.books, limits, ticks)
  if (outcome.kind !== 'held') return { kind: 'refused', refusal: outcome, standings }
  const { receipt, cap, hold, changes } = outcome
  const overlap = isComfortable(core, request, hold, standings)
  const durable = record(core, account, changes)
  return createAdmittedTurn(core, { requestId, account, receipt, cap, amount: hold, standings, overlap, durable })
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
  const turn = core.books.turns.get(requestId)
  const needed = hold * BigInt(COMFORTABLE_TURNS)
  if (turn?.buckets.some((bucket) => availableIn(bucket) < needed)) return false
  if (turn?.counted.some(({ counter }) => roomUnder(counter) < needed)) return false
  return standings.every(({ remaining }, index) => remaining >= (limits[index]?.cost ?? 0) * COMFORTABLE_TURNS)
}

/** An answer that is given again runs no turn and costs nothing, but it is a request like any other. */
export function takeRequest(core: LedgerCore, limits: readonly AppliedLimit[]): TakenRequest {
  const { books } = core
  const ticks = core.ticks()
  const counted = limits.filter(({ kind }) => kind === 'requests')
  const refusal = lookAtLimits(books, counted, ticks)
  if (!refusal) startUnderLimits(books, counted, ticks)
  const standings = standingsOf(books, limits, ticks)
  return refusal ? { kind: 'refused', refusal, standings } : { kind: 'taken', standings }
}
