import type { Clock } from '../../lib/clock.ts'
import { type ClockEvent, createSteadyClock, HOLD_MS, type SteadyClock } from '../../lib/steady-clock.ts'
import { findLatestLedgerTime } from '../../store/receipts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import type { HouseLog } from './house.ts'

/** Ledger time: every right and every retention is judged by it. It goes on from the newest time in the ledger. */
export async function openClock(
  clock: Clock,
  db: LedgerDb,
  log: Pick<HouseLog, 'info' | 'warn'>,
): Promise<SteadyClock> {
  const floorMs = await findLatestLedgerTime(db)
  return createSteadyClock(clock, { floorMs, onEvent: (event) => report(log, event) })
}

function report(log: Pick<HouseLog, 'info' | 'warn'>, event: ClockEvent): void {
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
