import type { SettleJournal } from '../db/settle-journal.ts'
import type { SqliteFile } from '../db/sqlite/worker-messages.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { AccountCache } from './accounts.ts'
import type { Batcher, RecordedBatch } from './batcher.ts'
import type { ClaimCache } from './claims.ts'
import type { JournaledEnds } from './journal.ts'
import type { MarkKeeper } from './marks.ts'
import type { LedgerState } from './state/state.ts'

export interface LedgerOptions {
  readonly db: LedgerDb
  /** Queries the same file with low priority, for audits. */
  readonly lowPriorityDb: LedgerDb
  readonly file: SqliteFile
  /** Ledger time goes back only when an operator sets it back, while the gate is shut. */
  readonly clock: Clock
  readonly journal: SettleJournal
  readonly markIntervalMs: number
  readonly observer: LedgerObserver
  readonly findKeptFacts?: FindKeptFacts
  /** How long running turns go on while nothing can be recorded. */
  readonly outageGraceMs?: number
  /** The first pause before the file is tried again after a failed write. */
  readonly readBackPauseMs?: number
}

/**
 * Finds the endings of those requests whose answers are kept, to be replayed or read by id. An ending is written beside
 * its answer before the charge; if the process dies in between, recovery charges from it.
 */
export type FindKeptFacts = (requests: readonly RequestId[]) => Promise<ReadonlyMap<RequestId, KeptFacts>>

export interface KeptFacts {
  /** Text of `writeEnding`. */
  readonly facts: string
  /** A repetition with the same idempotency key gets the answer. */
  readonly isReplayable: boolean
}

/** For telemetry; the ledger itself does not log. */
export interface LedgerObserver {
  batchRecorded(batch: RecordedBatch): void
  batchFailed(error: unknown): void
  recovered(holds: number): void
  /** The state of an account does not match its rows. The account is frozen; no other one is affected. */
  accountUnbalanced(account: AccountRow, error: Error): void
}

/** What the operations of an open ledger share. */
export interface LedgerCore
  extends Pick<LedgerOptions, 'db' | 'lowPriorityDb' | 'file' | 'clock'>,
    Required<Pick<LedgerOptions, 'findKeptFacts'>> {
  readonly ledgerState: LedgerState
  readonly gate: LedgerGate
  readonly cache: AccountCache
  readonly claims: ClaimCache
  readonly batcher: Batcher
  readonly marks: MarkKeeper
  readonly journaled: JournaledEnds
  /** Requests whose turn is alive in this process. The sweeper resolves any other hold, whatever its age. */
  readonly attended: Set<RequestId>
  /** Freezes an account whose state would have broken a rule. */
  suspect(account: AccountRow, error: Error): void
}

/** Open while the state in memory matches the file. While it is shut nothing is decided. */
export interface LedgerGate {
  readonly open: boolean
  shut(): void
  reopen(): void
  /** True when the gate is open, or opens in time. */
  whenOpen(timeoutMs: number): Promise<boolean>
  /** Running turns may not go on, from now. */
  expire(): void
  /** Calls back each time the gate stays shut for longer than running turns may go on. Returns how to stop listening. */
  onOutage(listener: () => void): () => void
}

/** A running answer may go on for this long without durable marks: a crash would forgive all of it. */
export const OUTAGE_GRACE_MS = 30_000

export function createLedgerGate(graceMs = OUTAGE_GRACE_MS): LedgerGate {
  let grace: NodeJS.Timeout | undefined
  const waiting = new Set<() => void>()
  const listeners = new Set<() => void>()
  const expire = () => {
    for (const listener of [...listeners]) listener()
  }
  const gate = {
    open: true,
    shut() {
      gate.open = false
      grace ??= setTimeout(expire, graceMs).unref()
    },
    reopen() {
      gate.open = true
      clearTimeout(grace)
      grace = undefined
      for (const wake of [...waiting]) wake()
    },
    whenOpen(timeoutMs: number) {
      if (gate.open) return Promise.resolve(true)
      return new Promise<boolean>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve(gate.open)
        }
        const timer = setTimeout(wake, timeoutMs)
        waiting.add(wake)
      })
    },
    expire,
    onOutage(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  return gate
}
