import { createUsageKeeper, type UsageKeeper } from '../../account/usage/usage-keeper.ts'
import type { LedgerObserver } from '../../ledger/create-core.ts'
import type { FindKeptFacts, FoundFacts } from '../../ledger/ledger.ts'
import { openLedger } from '../../ledger/open-ledger.ts'
import type { Closing } from '../../lib/closing.ts'
import type { RequestId } from '../../model/ids.ts'
import { moveOn } from '../../store/ledger-identity.ts'
import type { Contents, Foundation, OpenedBooks } from './parts.ts'

/** What a client just paid is counted when somebody asks; without a question it may be seen this much later. */
const USAGE_INTERVAL_MS = 500

/** Whatever a dead process left open is resolved here. */
export async function openBooks(foundation: Foundation, contents: Contents, closing: Closing): Promise<OpenedBooks> {
  const { config, clock, means, log, metrics, database } = foundation
  const { db, patientDb, file, journal } = database
  const usage = createUsageKeeper({
    ...{ db: patientDb, content: contents.content, clock, intervalMs: USAGE_INTERVAL_MS },
    onFailure: (error) =>
      log.error({ error }, 'usage could not be counted; it is tried again, and nothing of it is lost'),
  })
  closing.add(() => usage.close())
  const ledger = await openLedger({
    ...{ db, patientDb, file, journal, clock },
    findKeptFacts: findKeptFacts(contents),
    markIntervalMs: config.ledger.markIntervalMs,
    outageGraceMs: means.outageGraceMs,
    readBackPauseMs: means.readBackPauseMs,
    observer: observerOf(foundation, usage),
  })
  closing.add(() => ledger.close())
  metrics.watchOpenHolds(() => ledger.openHolds)
  return { ledger, usage }
}

/** What recovery asks: which answers were whole when the process died, and may still be had. */
const findKeptFacts =
  ({ answers, responses }: Contents): FindKeptFacts =>
  async (requests) => {
    const found = new Map<RequestId, FoundFacts>()
    for (const [requestId, { facts, isAsSent }] of await responses.factsOf(requests))
      found.set(requestId, { facts, givenAgain: isAsSent })
    // Whoever repeats the request gets the answer: that is more than its id can give.
    for (const [requestId, facts] of await answers.factsOf(requests)) found.set(requestId, { facts, givenAgain: true })
    return found
  }

/** What is heard of the ledger: the figures, the words for the operator, and who has used something. */
const observerOf = ({ log, metrics, progress }: Foundation, usage: UsageKeeper): LedgerObserver => ({
  batchRecorded(batch) {
    metrics.batchCommitted(batch)
    progress.mark = moveOn(progress.mark, batch.changes)
    usage.note(batch.changes)
  },
  batchFailed: (error) =>
    log.error({ error }, 'the ledger could not record a batch; admission is closed until it is read back'),
  recovered(holds) {
    metrics.holdsRecovered(holds)
    log.warn({ holds }, 'holds without a turn were resolved')
  },
  doesNotAddUp: (account, error) =>
    log.error(
      { account_row: account, error },
      'an account does not add up and was frozen; `millrace db verify` tells more, and lifts it when it adds up again',
    ),
})
