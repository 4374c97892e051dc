import type { Books } from '../books/books.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb } from '../store/tables.ts'
import type { AccountShelf } from './account-shelf.ts'
import type { Batcher } from './batcher.ts'
import type { ClaimShelf } from './claim-shelf.ts'
import type { LedgerGate } from './gate.ts'
import type { JournaledEnds } from './journaled-ends.ts'
import type { FindKeptFacts } from './ledger.ts'
import type { MarkKeeper } from './mark-keeper.ts'

/** What the operations of an open ledger share. */
export interface LedgerCore {
  readonly db: LedgerDb
  readonly patientDb: LedgerDb
  readonly file: SqliteFile
  readonly books: Books
  readonly gate: LedgerGate
  readonly shelf: AccountShelf
  readonly claims: ClaimShelf
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
  ticks(): number
}
