import type { AdmitRequest } from '../../books/admit-turn.ts'
import type { Ending, Owed } from '../../model/ending.ts'
import type { RequestId } from '../../model/ids.ts'
import type { LedgerGate } from '../gate.ts'
import type { MarkKeeper } from '../mark-keeper.ts'
import type { AdmitRow } from './admit-row.ts'
import type { OpBatches } from './op-batches.ts'
import type { SeenLimits } from './seen-limits.ts'

/** What the operations of a ledger on PostgreSQL share. */
export interface PostgresCore {
  /** Calls a function of the database, again and again within the time, until its outcome is known. */
  call<Result>(call: string, values: readonly unknown[]): Promise<Result>
  readonly admissions: OpBatches<AdmitRequest, AdmitRow>
  readonly closes: OpBatches<CloseOp, CloseRow>
  readonly marks: MarkKeeper
  readonly limits: SeenLimits
  /** Requests whose turn is alive in this process, from before the database is asked for their hold. */
  readonly attended: Set<RequestId>
  /** Holds of this process that stand. */
  readonly open: Set<RequestId>
  /** The run of this process, as the database knows it. Another one when a lease could not be renewed in time. */
  node: number
  readonly gate: LedgerGate
  /** Whether the database answered when it was asked last. */
  readonly available: boolean
}

/** What `close_turns` is asked for one turn. Without a charge it is a release. */
export interface CloseOp extends Omit<Ending, 'owed' | 'attempts'>, Partial<Owed> {
  readonly requestId: RequestId
  readonly attempts: string
  /** Names this close: sent again, it is known by it. */
  readonly closing: string
}

export type CloseRow =
  | { readonly kind: 'settled' | 'released'; readonly charge: string; readonly shortfall: string }
  | { readonly kind: 'not-open' }
