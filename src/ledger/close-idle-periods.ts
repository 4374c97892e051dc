import { closePeriod } from '../books/periods.ts'
import type { AccountRow } from '../model/ids.ts'
import { forgetIdleCounters, type IdleWindow, listIdleWindows } from '../store/idle-periods.ts'
import { forgetSums } from '../store/proofs.ts'
import type { LedgerCore } from './core.ts'
import { record } from './record.ts'

const DAY_MS = 86_400_000
/** After its end, for whoever looks at what was used a moment ago. */
const WINDOW_IDLE_MS = 32 * DAY_MS
/** At a time, so that no request waits behind more. */
const WINDOWS_AT_ONCE = 50
const ROWS_AT_ONCE = 200

/**
 * Ends periods that nobody uses any more, a few with every sweep. One that is used again is ended by the next of its kind;
 * those of accounts that went away, and the counters of keys that were revoked, would stand for ever.
 */
export async function closeIdlePeriods(core: LedgerCore): Promise<void> {
  const endedBefore = core.now() - WINDOW_IDLE_MS
  const windows = await listIdleWindows(core.db, { endedBefore, limit: WINDOWS_AT_ONCE })
  const closed = await Promise.allSettled(windows.map((window) => closeWindow(core, window, endedBefore)))
  const yesterday = core.now() - DAY_MS
  for (const { account, subject, period_start } of await forgetIdleCounters(core.file, {
    endedBefore: yesterday,
    limit: ROWS_AT_ONCE,
  })) {
    const counters = core.books.accounts.get(account as AccountRow)?.counters
    const counter = counters?.get(subject)
    // In memory it may have begun its next period, or be in use by a turn that is not in the file yet.
    if (counter?.start === period_start && counter.held === 0n) counters?.delete(subject)
  }
  await forgetSums(core.file, yesterday, ROWS_AT_ONCE)
  // An account that cannot be read is told of, and keeps nothing else from going.
  const failed = closed.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** By what memory says of it, which may be ahead of the file. */
const closeWindow = (core: LedgerCore, { row, account, subject }: IdleWindow, endedBefore: number): Promise<void> =>
  core.shelf.withBooks(account as AccountRow, async (books) => {
    const window = [books.periods.get(subject), ...books.outlived].find((bucket) => bucket?.row === row)
    if (!window || window.end >= endedBefore || window.held !== 0n || books.frozen || !core.gate.open) return
    await record(core, books.account, closePeriod(core.books, books, window, core.now()))
  })
