import type { CloseTurn, TurnCharge } from '../books/close-turn.ts'
import type { RequestId } from '../model/ids.ts'
import type { Ending } from './ledger.ts'

/** How a turn ended, as the books take it. When that is recorded is known only when it is. */
export type TurnEnd = Omit<CloseTurn, 'at' | 'ticks'>

/** Without a charge its hold is given back. */
export function turnEndOf(requestId: RequestId, ending: Ending, charge: TurnCharge | undefined): TurnEnd {
  const { outcome, lane, firstByteMs, totalMs, attempts, compaction, kept = false } = ending
  return {
    requestId,
    charge,
    outcome,
    lane,
    firstByteMs,
    totalMs,
    attempts: JSON.stringify(attempts),
    compaction,
    kept,
  }
}

/** Of a turn that nobody can ask any more how it went. */
export const RECOVERED: Ending = {
  outcome: 'recovered',
  lane: undefined,
  firstByteMs: undefined,
  totalMs: 0,
  attempts: [],
}
