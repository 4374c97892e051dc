import type { Kysely } from 'kysely'
import { type AdmitOutcome, admitTurn } from '../books/admit-turn.ts'
import { createBooks } from '../books/books.ts'
import { standingsOf } from '../books/turn-limits.ts'
import { type Clock, createNeverDecreasing } from '../lib/clock.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { findLatestLedgerTime, findNewestRows } from '../store/receipts.ts'
import { recordChanges } from '../store/record-changes.ts'
import type { LedgerTables } from '../store/tables.ts'
import { createAccountShelf } from './account-shelf.ts'
import { admittedTurn } from './admitted-turn.ts'
import { createBatcher } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import { createCreditDesk, standingOf } from './credit-account.ts'
import type { Admission, AdmissionRefusal, AdmitRequest, Ledger } from './ledger.ts'
import { createMarkKeeper } from './mark-keeper.ts'
import { readBackOpenTurns, resolveOrphans } from './recover.ts'

export interface LedgerDeps {
  readonly db: Kysely<LedgerTables>
  readonly file: SqliteFile
  readonly clock: Clock
  readonly markIntervalMs: number
  readonly observer: LedgerObserver
}

/** What telemetry may learn; the ledger itself does not log. */
export interface LedgerObserver {
  batchRecorded(facts: { readonly changes: number; readonly seconds: number }): void
  batchFailed(error: unknown): void
  recovered(holds: number): void
}

const READ_BACK_RETRY_MS = 1000
const ACCOUNTS_IN_MEMORY_MAX = 10_000

/** Opens the books: whatever a dead process left open is resolved before the first request is admitted. */
export async function openLedger(deps: LedgerDeps): Promise<Ledger> {
  const [core, state] = await createCore(deps)
  await readBackOpenTurns(core)
  const recovered = await resolveOrphans(core)
  if (recovered > 0) deps.observer.recovered(recovered)

  const desk = createCreditDesk(core)
  return {
    get available() {
      return state.available
    },
    get openHolds() {
      return core.books.turns.size
    },
    async standing(account) {
      await core.shelf.load(account)
      return standingOf(core, account)
    },
    limitStandings: (limits) => standingsOf(core.books, limits, core.ticks()),
    admit: (request) => admit(core, state, request),
    credit: (order) => desk.credit(order),
    async sweep() {
      core.shelf.tidy(ACCOUNTS_IN_MEMORY_MAX)
      forgetEarnedBackRates(core)
      const swept = await resolveOrphans(core)
      if (swept > 0) deps.observer.recovered(swept)
      return swept
    },
    async close() {
      state.closed = true
      core.marks.stop()
      await core.batcher.idle()
    },
  }
}

interface LedgerState {
  available: boolean
  closed: boolean
}

async function createCore(deps: LedgerDeps): Promise<[LedgerCore, LedgerState]> {
  const { db, clock } = deps
  const newest = await findNewestRows(db)
  const books = createBooks({ nextReceipt: newest.receipt + 1, nextTransfer: newest.transfer + 1 })
  const now = createNeverDecreasing(clock, await findLatestLedgerTime(db))
  const ticks = () => clock.ticks()
  const state: LedgerState = { available: true, closed: false }
  const batcher = createBatcher({
    ticks,
    record: async (changes, marks) => void (await deps.file.atomic(recordChanges(changes, marks))),
    onBatch: ({ changes, tickMicros }) => deps.observer.batchRecorded({ changes, seconds: tickMicros / 1e6 }),
    onFailure: (error) => {
      deps.observer.batchFailed(error)
      state.available = false
      void readBackUntilItWorks(core, state, deps.observer)
    },
  })
  const core: LedgerCore = {
    db,
    books,
    batcher,
    shelf: createAccountShelf({ db, books, ticks }),
    marks: createMarkKeeper({ batcher, now, intervalMs: deps.markIntervalMs }),
    attended: new Set(),
    now,
    ticks,
  }
  return [core, state]
}

async function admit(core: LedgerCore, state: LedgerState, request: AdmitRequest): Promise<Admission> {
  if (!state.available) return { kind: 'refused', refusal: { reason: 'unavailable' }, standings: [] }
  const loading = core.shelf.load(request.account)
  if (loading) await loading
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
    overlap: isFarFromTheEdge(core, request, outcome.hold),
    durable: core.batcher.enqueue(outcome.changes),
  })
}

/** With this many more holds of the same size affordable, asking the provider before the commit risks nothing. */
const COMFORTABLE_HOLDS = 20n

const isFarFromTheEdge = (core: LedgerCore, request: AdmitRequest, hold: bigint): boolean =>
  standingOf(core, request.account).available >= hold * COMFORTABLE_HOLDS

type Refused = Exclude<AdmitOutcome, { kind: 'held' }>

function refusalOf(outcome: Refused): AdmissionRefusal {
  switch (outcome.kind) {
    case 'limited':
      return { reason: 'limit', limit: outcome.limit, retryAfterMs: outcome.retryAfterMs }
    case 'limit-too-small':
      return { reason: 'limit-too-small', limit: outcome.limit }
    case 'short':
      return {
        reason: 'balance',
        available: outcome.available,
        needed: outcome.needed,
        tokensCovered: outcome.tokensCovered,
      }
    case 'in-flight':
      return { reason: 'in-flight', available: outcome.available, needed: outcome.needed }
    case 'no-subscription':
      return { reason: 'no-subscription' }
  }
}

/**
 * A failed batch leaves memory ahead of the file. Nobody is admitted until memory is what the file says again; turns
 * that are alive find their hold as it was recorded, or not at all.
 */
async function readBackUntilItWorks(core: LedgerCore, state: LedgerState, observer: LedgerObserver): Promise<void> {
  while (!state.closed) {
    try {
      await core.batcher.idle()
      core.books.accounts.clear()
      core.books.turns.clear()
      // Turns that are gone will not give their places back, and those that are read back have no limits any more.
      core.books.running.clear()
      await readBackOpenTurns(core)
      core.batcher.reopen()
      state.available = true
      return
    } catch (error) {
      observer.batchFailed(error)
      await new Promise((resolve) => setTimeout(resolve, READ_BACK_RETRY_MS).unref())
    }
  }
}

/** A rate that has been earned back whole is the same as one that was never used. */
function forgetEarnedBackRates(core: LedgerCore): void {
  const ticks = core.ticks()
  for (const [subject, reachedAt] of core.books.rates) if (reachedAt <= ticks) core.books.rates.delete(subject)
}
