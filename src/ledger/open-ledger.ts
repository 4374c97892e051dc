import type { Kysely } from 'kysely'
import { createBooks } from '../books/books.ts'
import { standingsOf } from '../books/turn-limits.ts'
import { type Clock, createNeverDecreasing } from '../lib/clock.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { findLatestLedgerTime, findNewestRows } from '../store/receipts.ts'
import { recordChanges } from '../store/record-changes.ts'
import type { LedgerTables } from '../store/tables.ts'
import { createAccountShelf } from './account-shelf.ts'
import { admit } from './admit.ts'
import { createBatcher } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import { createCreditDesk, standingOf } from './credit-account.ts'
import { createLedgerGate } from './gate.ts'
import type { Ledger } from './ledger.ts'
import { createMarkKeeper } from './mark-keeper.ts'
import { readBackUntilItWorks } from './read-back.ts'
import { readOpenTurns, resolveOrphans } from './recover.ts'

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

const ACCOUNTS_IN_MEMORY_MAX = 10_000

/** Opens the books: whatever a dead process left open is resolved before the first request is admitted. */
export async function openLedger(deps: LedgerDeps): Promise<Ledger> {
  const closing = new AbortController()
  const core = await createCore(deps, closing.signal)
  await readOpenTurns(core)
  await resolveAndTell(core, deps.observer)

  const desk = createCreditDesk(core)
  return {
    get available() {
      return core.gate.open
    },
    get openHolds() {
      return core.books.turns.size
    },
    async standing(account) {
      await core.shelf.load(account)
      return standingOf(core, account)
    },
    limitStandings: (limits) => standingsOf(core.books, limits, core.ticks()),
    admit: (request) => admit(core, request),
    credit: (order) => desk.credit(order),
    async sweep() {
      core.shelf.tidy(ACCOUNTS_IN_MEMORY_MAX)
      forgetEarnedBackRates(core)
      return core.gate.open ? resolveAndTell(core, deps.observer) : 0
    },
    async close() {
      closing.abort()
      core.marks.stop()
      await core.batcher.idle()
    },
  }
}

async function createCore(deps: LedgerDeps, closing: AbortSignal): Promise<LedgerCore> {
  const { db, clock, observer } = deps
  const newest = await findNewestRows(db)
  const books = createBooks({ nextReceipt: newest.receipt + 1, nextTransfer: newest.transfer + 1 })
  const now = createNeverDecreasing(clock, await findLatestLedgerTime(db))
  const ticks = () => clock.ticks()
  const gate = createLedgerGate()
  const batcher = createBatcher({
    ticks,
    record: async (changes, marks) => void (await deps.file.atomic(recordChanges(changes, marks))),
    onBatch: ({ changes, tickMicros }) => observer.batchRecorded({ changes, seconds: tickMicros / 1e6 }),
    onFailure: (error) => {
      observer.batchFailed(error)
      gate.shut()
      void readBackUntilItWorks(core, closing, observer)
    },
  })
  const core: LedgerCore = {
    db,
    books,
    gate,
    batcher,
    shelf: createAccountShelf({ db, books, ticks }),
    marks: createMarkKeeper({ batcher, now, intervalMs: deps.markIntervalMs }),
    attended: new Set(),
    now,
    ticks,
  }
  return core
}

async function resolveAndTell(core: LedgerCore, observer: LedgerObserver): Promise<number> {
  const resolved = await resolveOrphans(core)
  if (resolved > 0) observer.recovered(resolved)
  return resolved
}

/** A rate that has been earned back whole is the same as one that was never used. */
function forgetEarnedBackRates(core: LedgerCore): void {
  const ticks = core.ticks()
  for (const [subject, reachedAt] of core.books.rates) if (reachedAt <= ticks) core.books.rates.delete(subject)
}
