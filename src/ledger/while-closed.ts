import type { LedgerCore } from './core.ts'
import { READ_BACK_PAUSE_MS, readBackUntilItWorks } from './read-back.ts'

/** An operator waits as long as this for books that are being read back. */
const OPEN_WAIT_MS = 10_000

/**
 * Changes the file while nothing is decided on it, and reads the books back afterwards, whatever came of the work. Requests
 * that come meanwhile get `ledger_unavailable`; turns that end wait, or write their end into the journal.
 */
export async function whileClosed<Result>(
  core: LedgerCore,
  work: () => Promise<Result>,
  { closing, onFailure }: { readonly closing: AbortSignal; readonly onFailure: (error: unknown) => void },
): Promise<Result> {
  // Two that waited for the same opening: the first one shuts it again.
  if (!(await core.gate.whenOpen(OPEN_WAIT_MS)) || !core.gate.open)
    throw new Error('The ledger is being read back; nothing was changed')
  core.gate.shut()
  await core.batcher.idle()
  // The last batch failed: its own reading back has begun and opens the gate. Two of them would adopt old books.
  if ((await core.batcher.recorded()) === 'lost')
    throw new Error('The ledger could not record its last batch; nothing was changed')
  try {
    return await work()
  } finally {
    const retries = { failuresBefore: 0, pauseMs: READ_BACK_PAUSE_MS }
    await readBackUntilItWorks(core, closing, { batchFailed: onFailure }, retries)
  }
}
