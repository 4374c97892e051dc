import type { ShedReason } from '../http/load-guard.ts'
import type { HouseLog } from './house.ts'

/** Nothing was sent away for so long: it is over. */
const OVER_AFTER_TICKS = 10_000_000

/** Two lines for each time of overload, however many requests it met: when it begins, and when it has ended. */
export function createShedLog(deps: { readonly ticks: () => number; readonly log: Pick<HouseLog, 'info' | 'warn'> }) {
  let counts: Map<ShedReason, number> | undefined
  let lastAt = 0
  return {
    shed(reason: ShedReason, facts: object): void {
      lastAt = deps.ticks()
      if (counts === undefined) {
        counts = new Map()
        deps.log.warn(
          { reason, ...facts },
          'overloaded: requests are sent away; another line tells when that has ended',
        )
      }
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    },
    /** Called every so often. */
    look(): void {
      if (counts === undefined || deps.ticks() - lastAt < OVER_AFTER_TICKS) return
      deps.log.info({ sent_away: Object.fromEntries(counts) }, 'no longer overloaded')
      counts = undefined
    },
  }
}
