import { forgetEarnedBackRates, lookAtLimits, standingsOf } from '../books/turn-limits.ts'
import { forgetExpiredClaims } from '../store/claims.ts'
import { allowanceReport, standingOf } from './account-standing.ts'
import { admit, takeRequest } from './admit.ts'
import { auditBooks } from './audit-books.ts'
import { closeIdlePeriods } from './close-idle-periods.ts'
import type { LedgerCore } from './core.ts'
import { createCore, type LedgerDeps, type LedgerObserver } from './create-core.ts'
import type { Ledger } from './ledger.ts'
import { createOperatorDesk } from './operator-desk.ts'
import { adoptBooks, NO_LIMITS, readBooks } from './read-books.ts'
import { replayJournal } from './record.ts'
import { resolveOrphans } from './resolve-orphans.ts'
import { whileClosed } from './while-closed.ts'

const ACCOUNTS_IN_MEMORY_MAX = 10_000

/** Opens the books: whatever a dead process left open is resolved before the first request is admitted. */
export async function openLedger(deps: LedgerDeps): Promise<Ledger> {
  const closing = new AbortController()
  const core = await createCore(deps, closing.signal)
  adoptBooks(core, await readBooks(deps.db, { limitsOf: () => NO_LIMITS, scopes: [] }))
  if (!(await replayJournal(core))) throw new Error('The books could not be brought up to their journal')
  await resolveAndTell(core, deps.observer)

  return {
    ...createOperatorDesk(core),
    get available() {
      return core.gate.open
    },
    onOutage: (listener) => core.gate.onOutage(listener),
    get openHolds() {
      return core.books.turns.size
    },
    standing: (account) => core.shelf.withBooks(account, standingOf),
    limitStandings: (limits) => standingsOf(core.books, limits, core.ticks()),
    limitRefusal: (limits) => lookAtLimits(core.books, limits, core.ticks()),
    admit: (request, judged) => admit(core, request, judged),
    takeRequest: (limits) => takeRequest(core, limits),
    lookUpClaim: (scope) => core.claims.lookUp(scope),
    allowanceStandings: (account, allowances) => allowanceReport(core, account, allowances),
    audit: (options) => auditBooks(core, options),
    async sweep() {
      core.shelf.tidy(ACCOUNTS_IN_MEMORY_MAX)
      await core.claims.tidy()
      forgetEarnedBackRates(core.books, core.ticks())
      if (!core.gate.open) return 0
      const resolved = await resolveAndTell(core, deps.observer)
      if (core.gate.open) await forgetAllExpiredClaims(core)
      if (core.gate.open) await closeIdlePeriods(core)
      return resolved
    },
    whileClosed: (work) => whileClosed(core, work, { closing: closing.signal, onFailure: deps.observer.batchFailed }),
    async close() {
      closing.abort()
      core.marks.stop()
      await core.batcher.idle()
    },
  }
}

/** Deleted at a time, so that no request waits behind more. */
const CLAIMS_AT_ONCE = 200

async function forgetAllExpiredClaims(core: LedgerCore): Promise<void> {
  for (;;) if ((await forgetExpiredClaims(core.file, core.now(), CLAIMS_AT_ONCE)) < CLAIMS_AT_ONCE) return
}

async function resolveAndTell(core: LedgerCore, observer: LedgerObserver): Promise<number> {
  const resolved = await resolveOrphans(core)
  if (resolved > 0) observer.recovered(resolved)
  return resolved
}
