import type { z } from 'zod'
import { findSeries } from '../../content/read-usage.ts'
import type { latelyUsed } from '../../contract/overview.ts'
import { beginOfDay, dayAt, openTimeZone } from '../../lib/time-zone.ts'
import type { AccountId } from '../../model/ids.ts'
import { resolveAccount } from '../accounts/one-account.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { noSuchZone } from './day-range.ts'
import { HOUR_MS, hourAt } from './range-steps.ts'
import { type RefusedTurnsDeps, refusedBetween } from './refused-turns-report.ts'
import type { UsageDeps } from './usage-report.ts'
import { NO_USAGE, usedBetween, usedView } from './used-between.ts'

export interface UsageOverviewDeps extends UsageDeps, Omit<RefusedTurnsDeps, 'db'> {
  readonly clock: { now(): number }
}

export type UsageOverview = z.output<typeof latelyUsed>

const HOURS = 24
/** Behind every row: ledger time may be ahead of a clock that was set back. */
const NEVER = Number.MAX_SAFE_INTEGER

/** What the account has used and was refused since midnight in the zone, and what it has used in each of the last 24 hours. */
export async function usageOverview(
  deps: UsageOverviewDeps,
  args: { readonly account: string; readonly zone: string },
): Promise<Outcome<UsageOverview>> {
  const zone = openTimeZone(args.zone)
  if (zone === undefined) return noSuchZone(args.zone)
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const account = resolved.account.row
  const now = deps.clock.now()
  const thisHour = hourAt(zone, now)
  const sinceMidnight = [beginOfDay(zone, dayAt(zone, now)), NEVER]
  const hours = Array.from({ length: HOURS }, (_, index) => thisHour - (HOURS - 1 - index) * HOUR_MS)
  const refused = await refusedBetween(deps, { account: args.account }, sinceMidnight)
  return deps.usage.readUpToDate(account, async () => {
    const whole = await findSeries(deps.content, { account: resolved.account.id as AccountId, level: 'all' })
    const between = async (instants: readonly number[]) =>
      (whole && (await usedBetween(deps.content, [whole.series], instants)).get(whole.series)) ??
      instants.slice(1).map(() => NO_USAGE)
    const [today] = await between(sinceMidnight)
    const byHour = await between([...hours, NEVER])
    return done({
      today: usedView(today!),
      refused_today: refused.reduce((sum, { total }) => sum + total, 0),
      hours: hours.map((from, index) => ({ from: isoTime(from), used: usedView(byHour[index]!) })),
    })
  })
}
