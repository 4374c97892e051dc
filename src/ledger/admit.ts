import { type AdmitOutcome, admitTurn } from '../books/admit-turn.ts'
import { standingsOf } from '../books/turn-limits.ts'
import { admittedTurn } from './admitted-turn.ts'
import type { LedgerCore } from './core.ts'
import { standingOf } from './credit-account.ts'
import type { Admission, AdmissionRefusal, AdmitRequest } from './ledger.ts'

/** With this many more holds of the same size affordable, asking the provider before the commit risks nothing. */
const COMFORTABLE_HOLDS = 20n

/** Limits and hold in one step; what was decided joins the batch that is about to be recorded. */
export async function admit(core: LedgerCore, request: AdmitRequest): Promise<Admission> {
  const loading = core.shelf.load(request.account)
  if (loading) await loading
  if (!core.gate.open) return { kind: 'refused', refusal: { reason: 'unavailable' }, standings: [] }
  const ticks = core.ticks()
  const outcome = admitTurn(core.books, { ...request, at: core.now(), ticks })
  const standings = standingsOf(core.books, request.limits, ticks)
  if (outcome.kind !== 'held') return { kind: 'refused', refusal: refusalOf(outcome), standings }
  return admittedTurn(core, {
    requestId: request.requestId,
    receipt: outcome.receipt,
    cap: outcome.cap,
    hold: outcome.hold,
    standings,
    overlap: standingOf(core, request.account).available >= outcome.hold * COMFORTABLE_HOLDS,
    durable: core.batcher.enqueue(outcome.changes),
  })
}

function refusalOf(outcome: Exclude<AdmitOutcome, { kind: 'held' }>): AdmissionRefusal {
  switch (outcome.kind) {
    case 'limited':
      return { reason: 'limit', limit: outcome.limit, retryAfterMs: outcome.retryAfterMs }
    case 'limit-too-small':
      return { reason: 'limit-too-small', limit: outcome.limit }
    case 'short': {
      const { available, needed, tokensCovered } = outcome
      return { reason: 'balance', available, needed, tokensCovered }
    }
    case 'in-flight':
      return { reason: 'in-flight', available: outcome.available, needed: outcome.needed }
    case 'no-subscription':
      return { reason: 'no-subscription' }
  }
}
