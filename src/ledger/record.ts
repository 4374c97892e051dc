import { BrokenRule } from '../books/books.ts'
import type { Change } from '../books/changes.ts'
import { type Charged, type CloseOutcome, closeTurn } from '../books/close-turn.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import type { TurnEnd } from './journaled-ends.ts'

/** What was decided on an account joins the batch that is about to be recorded. */
export const record = (core: LedgerCore, account: AccountRow, changes: readonly Change[]): Promise<Durability> =>
  core.batcher.enqueue(account, changes)

export type RecordedEnd =
  | ({ readonly kind: 'recorded' } & Charged)
  /** The batch could not be written: the hold stands as before, once the books have been read back. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'not-open' }
  /** The account does not add up: the hold stays as it is until somebody has looked. */
  | { readonly kind: 'broken' }

/** Ends a turn in the books at once, and says when that is durable. */
export async function recordEnd(core: LedgerCore, end: TurnEnd): Promise<RecordedEnd> {
  const turn = core.books.turns.get(end.requestId)
  if (!turn) return { kind: 'not-open' }
  // What memory says of it is not what the file says, and is about to be read again.
  if (core.shelf.reading(turn.account)) return { kind: 'broken' }
  const closed = tryToClose(core, turn.account, end)
  if (closed.kind !== 'closed') return closed
  // What was lost is ended again, and needs its progress then.
  const durability = await record(core, turn.account, closed.changes)
  if (durability === 'lost') return { kind: 'lost' }
  if (durability === 'refused') return { kind: 'broken' }
  core.marks.forget(turn.receipt)
  return { kind: 'recorded', charge: closed.charge, shortfall: closed.shortfall }
}

function tryToClose(core: LedgerCore, account: AccountRow, end: TurnEnd): CloseOutcome | { readonly kind: 'broken' } {
  try {
    return closeTurn(core.books, { ...end, at: core.now(), ticks: core.ticks() })
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error
    core.suspect(account, error)
    return { kind: 'broken' }
  }
}

/** Ends the turns whose ends were written down while the books could not be. True when nothing is left to record. */
export const replayJournal = (core: LedgerCore): Promise<boolean> =>
  core.journaled.replay((end) => recordEnd(core, end))
