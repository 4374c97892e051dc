import type { ServedCounter } from '../admin/count-served.ts'
import type { UsageKeeper } from '../admin/count-usage.ts'
import type { LedgerObserver } from '../ledger/core.ts'
import { type ClockEvent, HOLD_MS } from '../lib/clock.ts'
import type { NoticeWatch } from '../notices/watch.ts'
import type { AppLog, Core } from './app.ts'

/** Metrics, log, usage and notices follow what the ledger records. */
export const observerOf = (
  { log, metrics, progress }: Core,
  usage: UsageKeeper,
  served: ServedCounter,
  watch: NoticeWatch,
): LedgerObserver => ({
  batchRecorded(batch) {
    metrics.batchCommitted(batch)
    for (const change of batch.changes) {
      const { mark } = progress
      switch (change.kind) {
        case 'receipt-opened':
          if (change.receipt > mark.receipt)
            progress.mark = { ...mark, receipt: change.receipt, requestId: change.requestId }
          break
        case 'receipt-closed':
          usage.noteAccount(change.account)
          served.noteAccount(change.account)
          watch.note(change.account)
          break
        case 'transferred':
          watch.note(change.account)
          if (change.unit === 'usd' && change.transfer > mark.transfer)
            progress.mark = { ...mark, transfer: change.transfer, transferAt: change.at }
      }
    }
  },
  batchFailed: (error) =>
    log.error({ error }, 'the ledger could not record a batch; no turn is admitted until it is read back'),
  recovered(holds) {
    metrics.holdsRecovered(holds)
    log.warn({ holds }, 'holds without a running turn were resolved')
  },
  accountUnbalanced: (account, error) =>
    log.error(
      { account_row: account, error },
      'an account does not balance and was frozen; run `millrace db verify`, which unfreezes it when it balances again',
    ),
})

export function logClockEvent(log: Pick<AppLog, 'info' | 'warn'>, event: ClockEvent): void {
  switch (event.kind) {
    case 'stepped':
      log.warn({ ahead_seconds: seconds(event.aheadMs), followed_in_seconds: seconds(HOLD_MS) }, STEPPED)
      break
    case 'step-followed':
      log.warn({ ahead_seconds: seconds(event.aheadMs) }, 'ledger time followed a forward step of the wall clock')
      break
    case 'step-undone':
      log.info({}, 'the wall clock went back from its step; ledger time never followed it')
      break
    case 'wall-behind':
      log.warn({ behind_seconds: seconds(event.behindMs) }, event.catchesUp ? CATCHES_UP : FAR_BEHIND)
      break
    case 'together-again':
      log.info({}, 'the wall clock has caught up with ledger time')
      break
    case 'set-back': {
      const [from, to] = [event.fromMs, event.toMs].map((ms) => new Date(ms).toISOString())
      log.warn({ from, to }, 'an operator set ledger time back')
    }
  }
}

const STEPPED =
  'the wall clock stepped forward; ledger time follows if the step holds, or at once with `millrace db clock --follow`'
const CATCHES_UP = 'the wall clock is behind ledger time, which runs at half speed until the wall clock has caught up'
const FAR_BEHIND =
  'the wall clock is far behind ledger time; see `millrace db clock`, and repair with `millrace db clock --set-back`'

const seconds = (ms: number): number => Math.round(ms / 1000)
