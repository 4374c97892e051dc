import type { z } from 'zod'
import type { latelyUsed, overviewAnswer } from '../contract/owner.ts'
import { findSeries } from '../db/content/usage-totals.ts'
import { countKeys } from '../db/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { beginOfDay, dayAt, openTimeZone } from '../lib/time-zone.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import { resolveAccount, walletOf } from './accounts.ts'
import { HOUR_MS, hourAt, noSuchZone } from './date-ranges.ts'
import { type OfferedModelsDeps, suggestModel } from './models.ts'
import { done, type Outcome } from './outcome.ts'
import { type PlanStatusDeps, planStatus } from './plans.ts'
import { type RefusedTurnsDeps, refusedBetween } from './refused-turns.ts'
import { listRequests } from './requests.ts'
import { NO_USAGE, type UsageDeps, usedBetween, usedView } from './usage-report.ts'
import { isoTime } from './values.ts'

export interface UsageOverviewDeps extends UsageDeps, Omit<RefusedTurnsDeps, 'db'> {
  readonly clock: { now(): number }
}

type UsageOverview = z.output<typeof latelyUsed>

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

export interface OverviewDeps extends PlanStatusDeps, OfferedModelsDeps {
  readonly db: PlanStatusDeps['db']
  readonly clock: OfferedModelsDeps['clock']
  readonly catalog: OfferedModelsDeps['catalog']
  readonly ledger: PlanStatusDeps['ledger'] & Pick<Ledger, 'standing'>
}

const RECENT = 10

/** How an account stands, on one page: what is left, and what has just run. What it has used is `usageOverview`. */
export async function overview(deps: OverviewDeps, row: AccountRow): Promise<Outcome<z.output<typeof overviewAnswer>>> {
  const requests = await listRequests(deps, row, { limit: RECENT })
  if (requests.kind === 'refused') return requests
  const recent = requests.value.items
  const standing = await planStatus(deps, row)
  if (standing.kind === 'refused') return standing
  const { state, plan, windows } = standing.value
  return done({
    wallet: await walletOf(deps.ledger, row),
    plan: { state, plan, windows },
    recent,
    keys: await countKeys(deps.db, row, deps.clock.now()),
    suggested_model: recent.length === 0 ? await suggestModel(deps, row) : null,
  })
}
