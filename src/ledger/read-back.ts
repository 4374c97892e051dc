import type { RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { LedgerCore } from './core.ts'
import { readOpenTurns } from './recover.ts'

const RETRY_MS = 1000

/**
 * A failed batch leaves memory ahead of the file. Nothing is decided until memory is what the file says again; turns that
 * are alive find their hold as it was recorded, or not at all.
 */
export async function readBackUntilItWorks(
  core: LedgerCore,
  closing: AbortSignal,
  observer: { batchFailed(error: unknown): void },
): Promise<void> {
  const { books } = core
  // What each running turn takes from the limits is known in memory only.
  const limits = new Map([...books.turns].map(([requestId, turn]) => [requestId, turn.limits]))
  while (!closing.aborted) {
    try {
      await core.batcher.idle()
      books.accounts.clear()
      books.turns.clear()
      await readOpenTurns(core, (requestId) => limitsOfLiving(core, limits, requestId))
      countRunning(core)
      core.batcher.reopen()
      core.gate.reopen()
      return
    } catch (error) {
      observer.batchFailed(error)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
    }
  }
}

const limitsOfLiving = (
  core: LedgerCore,
  limits: ReadonlyMap<RequestId, readonly AppliedLimit[]>,
  requestId: RequestId,
): readonly AppliedLimit[] => (core.attended.has(requestId) ? (limits.get(requestId) ?? []) : [])

/** Places are counted anew from the turns that are left: those whose hold was lost will not give theirs back. */
function countRunning({ books }: LedgerCore): void {
  books.running.clear()
  for (const turn of books.turns.values()) {
    for (const { kind, subject } of turn.limits) {
      if (kind === 'concurrent') books.running.set(subject, (books.running.get(subject) ?? 0) + 1)
    }
  }
}
