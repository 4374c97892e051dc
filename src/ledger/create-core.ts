import { listFrozen, setFrozen } from '../db/accounts.ts'
import { findProof, recordProof, recordSums } from '../db/proofs.ts'
import { findNewestRows, listOpenReceipts } from '../db/receipts.ts'
import { recordBatch } from '../db/record-changes.ts'
import { type SettleJournal, waitingEnds } from '../db/settle-journal.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { createAccountCache, loadAccountState } from './accounts.ts'
import { createBatcher, type Operation } from './batcher.ts'
import { createClaimCache } from './claims.ts'
import type { LedgerCore } from './core.ts'
import { createLedgerGate } from './gate.ts'
import { openJournaledEnds } from './journal.ts'
import type { FindKeptFacts } from './ledger.ts'
import { createMarkKeeper } from './marks.ts'
import {
  NO_LIMITS,
  openTurnOf,
  READ_BACK_PAUSE_MS,
  readBackUntilItWorks,
  readClaims,
  replayJournal,
} from './recovery.ts'
import { type Change, createLedgerState, type LedgerState, PERIOD_ROWS_FROM } from './state/state.ts'
import { countAllRunning } from './state/turn-limits.ts'
import { NOTHING_PROVED, type VerifyReport, verifyLedgerState } from './verify.ts'

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

/** With empty books; `adoptLedger` puts in what the file says. */
export async function createCore(deps: LedgerDeps, closing: AbortSignal): Promise<LedgerCore> {
  const { db, patientDb, file, clock, observer } = deps
  const ledgerState = await emptyState(db)
  const now = () => clock.now()
  const nowMicros = () => clock.nowMicros()
  const gate = createLedgerGate(deps.outageGraceMs)
  let failuresInARow = 0
  const batcher = createBatcher({
    nowMicros,
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
    ledgerState,
    gate,
    batcher,
    cache: createAccountCache({ db, ledgerState, nowMicros, pendingAccounts: () => batcher.pendingAccounts() }),
    claims: createClaimCache({ db, ledgerState, now, recorded: () => batcher.recorded() }),
    findKeptFacts: deps.findKeptFacts ?? (async () => new Map()),
    marks: createMarkKeeper({ batcher, gate, now, intervalMs: deps.markIntervalMs }),
    journaled: await openJournaledEnds(deps.journal, waitingEnds(db, file)),
    attended: new Set(),
    suspect(account, error) {
      const found = ledgerState.accounts.get(account)
      if (!found || found.frozen) return
      found.frozen = true
      observer.doesNotAddUp(account, error)
      // Where the file does not take it either, the next audit finds the same.
      void freeze(core, account).catch(observer.batchFailed)
    },
    now,
    nowMicros,
  }
  return core
}

/** New rows go behind those that the file has. */
async function emptyState(db: LedgerDb): Promise<LedgerState> {
  const { receipt, transfer, bucket, subscription } = await findNewestRows(db)
  return createLedgerState({
    receipt: receipt + 1,
    transfer: transfer + 1,
    bucket: Math.max(bucket + 1, PERIOD_ROWS_FROM),
    subscription: subscription + 1,
  })
}

/**
 * The file has refused what memory decided on an account. Until somebody has looked the account is frozen, and memory takes
 * over what the file says of it: its balances, its open turns, and the idempotency keys that were decided on in vain.
 */
function freezeAndReadAgain(core: LedgerCore, account: AccountRow, refused: readonly Operation[]): Promise<void> {
  // Freeze in memory at once, so that nothing more is admitted, even if the read fails.
  const ahead = core.ledgerState.accounts.get(account)
  if (ahead) ahead.frozen = true
  return core.cache.readAgain(account, async () => {
    await setFrozen(core.file, account, core.now())
    const { ledgerState } = core
    const turnsBefore = [...ledgerState.turns.values()].filter((turn) => turn.account === account)
    const scopes = new Set([...turnsBefore.flatMap(({ claim }) => claim ?? []), ...refused.flatMap(scopesOf)])
    const [loaded, receipts, claims] = await Promise.all([
      loadAccountState(core.db, account),
      listOpenReceipts(core.db, account),
      readClaims(core.db, scopes),
    ])
    // From here on nothing waits: nobody meets an account of which one half is old and the other new.
    const limits = new Map(turnsBefore.map((turn) => [turn.requestId, turn.limits]))
    for (const { requestId } of turnsBefore) ledgerState.turns.delete(requestId)
    for (const receipt of receipts) {
      const turn = openTurnOf(receipt, loaded, limits.get(receipt.request_id as never) ?? NO_LIMITS)
      ledgerState.turns.set(turn.requestId, turn)
    }
    ledgerState.accounts.set(account, loaded)
    for (const [scope, claim] of claims) ledgerState.claims.set(scope, claim)
    ledgerState.running = countAllRunning(ledgerState.turns.values())
  })
}

const scopesOf = ({ changes }: Operation): string[] =>
  changes.flatMap((change) => (change.kind === 'claim-opened' || change.kind === 'claim-ended' ? change.scope : []))

/**
 * Proves the books and acts on it: an account that does not add up is frozen, and nobody else is touched. `whole` begins
 * at the first row and lifts the freeze of accounts that add up again; else only what has come since the last proof is
 * read. Only a proof without a finding moves the mark.
 */
export async function auditLedger(core: LedgerCore, { whole }: { readonly whole: boolean }): Promise<VerifyReport> {
  const before = await findProof(core.db)
  const { report, proved } = await verifyLedgerState({
    db: core.patientDb,
    since: whole ? NOTHING_PROVED : before,
    keep: (sums) => recordSums(core.file, sums),
    nowMicros: core.nowMicros,
  })
  for (const account of report.suspects) await freeze(core, account)
  if (whole) await thawAllBut(core, new Set(report.suspects))
  // What could not be recorded while they were frozen.
  if (whole && !core.journaled.isEmpty && core.gate.open) await replayJournal(core)
  if (report.ok) await recordProof(core.file, proved)
  return report
}

async function freeze(core: LedgerCore, account: AccountRow): Promise<void> {
  await core.cache.withState(account, () => {
    // In memory first: from the moment at which the file says so, nobody may find it there without.
    setFrozenInMemory(core, account, { frozen: true })
    return setFrozen(core.file, account, core.now())
  })
}

async function thawAllBut(core: LedgerCore, suspects: ReadonlySet<AccountRow>): Promise<void> {
  for (const { row } of await listFrozen(core.db)) {
    const account = row as AccountRow
    if (suspects.has(account)) continue
    await setFrozen(core.file, account, null)
    setFrozenInMemory(core, account, { frozen: false })
  }
}

function setFrozenInMemory(core: LedgerCore, account: AccountRow, { frozen }: { readonly frozen: boolean }): void {
  const ledgerState = core.ledgerState.accounts.get(account)
  if (ledgerState) ledgerState.frozen = frozen
}
