import { type Books, createBooks } from '../books/books.ts'
import type { Change } from '../books/changes.ts'
import { PERIOD_ROWS_FROM } from '../books/sides.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { findNewestRows } from '../store/receipts.ts'
import { recordBatch } from '../store/record-batch.ts'
import type { SettleJournal } from '../store/settle-journal.ts'
import type { LedgerDb } from '../store/tables.ts'
import { waitingEnds } from '../store/waiting-ends.ts'
import { createAccountShelf } from './account-shelf.ts'
import { freeze } from './audit-books.ts'
import { createBatcher } from './batcher.ts'
import { createClaimShelf } from './claim-shelf.ts'
import type { LedgerCore } from './core.ts'
import { createLedgerGate } from './gate.ts'
import { openJournaledEnds } from './journaled-ends.ts'
import type { FindKeptFacts } from './ledger.ts'
import { createMarkKeeper } from './mark-keeper.ts'
import { freezeAndReadAgain } from './read-account-again.ts'
import { READ_BACK_PAUSE_MS, readBackUntilItWorks } from './read-back.ts'

export interface LedgerDeps {
  readonly db: LedgerDb
  /** The same for what can wait: the proof of the books. */
  readonly patientDb: LedgerDb
  readonly file: SqliteFile
  /** Ledger time, which goes back on the word of an operator only. */
  readonly clock: Clock
  readonly journal: SettleJournal
  readonly markIntervalMs: number
  readonly observer: LedgerObserver
  /** Where answers are kept: what recovery finds there, it charges for. */
  readonly findKeptFacts?: FindKeptFacts
  /** Running turns go on for so long while nothing can be recorded. */
  readonly outageGraceMs?: number
  /** So long after its first failure the file is asked again whether it takes a write. */
  readonly readBackPauseMs?: number
}

/** What telemetry may learn; the ledger itself does not log. */
export interface LedgerObserver {
  /** `operations`: turns opened and closed, and transfers; what they moved on wallets is not counted again. */
  batchRecorded(facts: {
    readonly operations: number
    readonly seconds: number
    /** What is durable now. */
    readonly changes: readonly Change[]
  }): void
  batchFailed(error: unknown): void
  recovered(holds: number): void
  /** The books of an account and its rows do not agree: it is frozen, and nobody else is touched. */
  doesNotAddUp(account: AccountRow, error: Error): void
}

/** With empty books; `adoptBooks` puts in what the file says. */
export async function createCore(deps: LedgerDeps, closing: AbortSignal): Promise<LedgerCore> {
  const { db, patientDb, file, clock, observer } = deps
  const books = await emptyBooks(db)
  const now = () => clock.now()
  const ticks = () => clock.ticks()
  const gate = createLedgerGate(deps.outageGraceMs)
  let failuresInARow = 0
  const batcher = createBatcher({
    ticks,
    record: (operations, marks) => recordBatch(file, operations, marks),
    onRefused: (account, refused, error) => {
      observer.doesNotAddUp(account, error)
      void freezeAndReadAgain(core, account, refused).catch(batcher.fail)
    },
    onBatch({ operations, tickMicros, changes }) {
      failuresInARow = 0
      observer.batchRecorded({ operations, seconds: tickMicros / 1e6, changes })
    },
    onFailure: (error) => {
      observer.batchFailed(error)
      gate.shut()
      const retries = { failuresBefore: failuresInARow++, pauseMs: deps.readBackPauseMs ?? READ_BACK_PAUSE_MS }
      void readBackUntilItWorks(core, closing, observer, retries)
    },
  })
  const core: LedgerCore = {
    db,
    patientDb,
    file,
    books,
    gate,
    batcher,
    shelf: createAccountShelf({ db, books, ticks, pendingAccounts: () => batcher.pendingAccounts() }),
    claims: createClaimShelf({ db, books, now, recorded: () => batcher.recorded() }),
    findKeptFacts: deps.findKeptFacts ?? (async () => new Map()),
    marks: createMarkKeeper({ batcher, gate, now, intervalMs: deps.markIntervalMs }),
    journaled: await openJournaledEnds(deps.journal, waitingEnds(db, file)),
    attended: new Set(),
    suspect(account, error) {
      const found = books.accounts.get(account)
      if (!found || found.frozen) return
      found.frozen = true
      observer.doesNotAddUp(account, error)
      // Where the file does not take it either, the next audit finds the same.
      void freeze(core, account).catch(observer.batchFailed)
    },
    now,
    ticks,
  }
  return core
}

/** New rows go behind those that the file has. */
async function emptyBooks(db: LedgerDb): Promise<Books> {
  const { receipt, transfer, bucket, subscription } = await findNewestRows(db)
  return createBooks({
    receipt: receipt + 1,
    transfer: transfer + 1,
    bucket: Math.max(bucket + 1, PERIOD_ROWS_FROM),
    subscription: subscription + 1,
  })
}
