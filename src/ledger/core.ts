import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { AccountCache } from './accounts.ts'
import type { Batcher } from './batcher.ts'
import type { ClaimCache } from './claims.ts'
import type { LedgerGate } from './gate.ts'
import type { JournaledEnds } from './journal.ts'
import type { FindKeptFacts } from './ledger.ts'
import type { MarkKeeper } from './marks.ts'
import type { LedgerState } from './state/state.ts'

/** What the operations of an open ledger share. */
export interface LedgerCore {
  readonly db: LedgerDb
  readonly patientDb: LedgerDb
  readonly file: SqliteFile
  readonly ledgerState: LedgerState
  readonly gate: LedgerGate
  readonly cache: AccountCache
  readonly claims: ClaimCache
  readonly batcher: Batcher
  readonly marks: MarkKeeper
  readonly journaled: JournaledEnds
  readonly findKeptFacts: FindKeptFacts
  /** Requests whose turn is still alive in this process. A hold without one belongs to the sweeper, whatever its age. */
  readonly attended: Set<RequestId>
  /** Freezes an account whose books would have broken a rule. */
  suspect(account: AccountRow, error: Error): void
  /** Ledger time in milliseconds: it goes back on the word of an operator only, while the gate is shut. */
  now(): number
  /** Monotonic microseconds. */
  nowMicros(): number
}
