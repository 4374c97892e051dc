import { pauseIdly } from '../lib/pause.ts'
import type { RequestId } from '../model/ids.ts'
import { proveWritable } from '../store/meta.ts'
import type { LedgerCore } from './core.ts'
import { adoptBooks, NO_LIMITS, readBooks } from './read-books.ts'
import { replayJournal } from './record.ts'

export const READ_BACK_PAUSE_MS = 250
const PAUSE_MAX_MS = 10_000

/**
 * A failed batch leaves memory ahead of the file. Nothing is decided until the file has taken a write again and memory is
 * what it says; turns that are alive find their hold as it was recorded, or not at all. `failuresBefore` counts the
 * batches that failed since the last one that did not: a fault that comes back at once is asked after ever less often,
 * each time twice as long after `pauseMs` at first.
 */
export async function readBackUntilItWorks(
  core: LedgerCore,
  closing: AbortSignal,
  observer: { batchFailed(error: unknown): void },
  { failuresBefore, pauseMs }: { readonly failuresBefore: number; readonly pauseMs: number },
): Promise<void> {
  // What each running turn takes from the limits is known in memory only.
  const { turns } = core.books
  const limitsOfLiving = (requestId: RequestId) =>
    (core.attended.has(requestId) ? turns.get(requestId)?.limits : undefined) ?? NO_LIMITS
  for (let failures = failuresBefore; ; failures++) {
    await pauseIdly(failures === 0 ? 0 : Math.min(pauseMs * 2 ** (failures - 1), PAUSE_MAX_MS))
    try {
      await core.batcher.idle()
      if (closing.aborted) return
      await proveWritable(core.file)
      adoptBooks(core, await readBooks(core.db, { limitsOf: limitsOfLiving, scopes: core.claims.asked }))
      core.batcher.reopen()
      // Before anybody else may touch them: what was written down meanwhile is what happened.
      // Where that failed, the failure has begun another reading back.
      if (!(await replayJournal(core))) return
      core.gate.reopen()
      // Whoever has written one down in this very moment found the gate shut, and left it to us.
      if (!core.journaled.isEmpty) void replayJournal(core)
      return
    } catch (error) {
      if (closing.aborted) return
      observer.batchFailed(error)
    }
  }
}
