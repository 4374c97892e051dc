import { type Charged, type CloseTurn, closeTurn } from '../books/close-turn.ts'
import type { LedgerCore } from './core.ts'
import { record } from './record.ts'

/** How a turn ended, as the books take it. When that is recorded is known only when it is. */
export type TurnEnd = Omit<CloseTurn, 'at' | 'ticks'>

export type RecordedEnd =
  | ({ readonly kind: 'recorded' } & Charged)
  /** The batch could not be written: the hold stands as before, once the books have been read back. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'not-open' }

/** Ends a turn in the books at once, and says when that is durable. */
export async function recordEnd(core: LedgerCore, end: TurnEnd): Promise<RecordedEnd> {
  const turn = core.books.turns.get(end.requestId)
  const closed = closeTurn(core.books, { ...end, at: core.now(), ticks: core.ticks() })
  if (!turn || closed.kind === 'not-open') return { kind: 'not-open' }
  // What was lost is ended again, and needs its progress then.
  if ((await record(core, turn.account, closed.changes)) === 'lost') return { kind: 'lost' }
  core.marks.forget(turn.receipt)
  return { kind: 'recorded', charge: closed.charge, shortfall: closed.shortfall }
}
