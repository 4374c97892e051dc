import type { z } from 'zod'
import type { overviewAnswer, overviewQuery } from '../contract/overview.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import { countKeys } from '../store/keys.ts'
import { walletOf } from './account-view.ts'
import { listRequests } from './list-requests.ts'
import { done, type Outcome } from './outcome.ts'
import { type PlanStandingDeps, planStanding } from './plan-standing.ts'
import { type UsageOverviewDeps, usageOverview } from './usage-overview.ts'

export interface OverviewDeps extends UsageOverviewDeps, PlanStandingDeps {
  readonly db: PlanStandingDeps['db']
  readonly clock: UsageOverviewDeps['clock'] & PlanStandingDeps['clock']
  readonly ledger: PlanStandingDeps['ledger'] & Pick<Ledger, 'standing'>
}

const RECENT = 10

/** How an account stands, on one page: what is left, what today has cost, and what has just run. */
export async function overview(
  deps: OverviewDeps,
  account: { readonly id: AccountId; readonly row: AccountRow },
  { zone }: z.output<typeof overviewQuery>,
): Promise<Outcome<z.output<typeof overviewAnswer>>> {
  const used = await usageOverview(deps, { account: account.id, zone })
  if (used.kind === 'refused') return used
  const recent = await listRequests(deps, account.row, { limit: RECENT })
  if (recent.kind === 'refused') return recent
  const standing = await planStanding(deps, account.row)
  if (standing.kind === 'refused') return standing
  const { state, plan, windows } = standing.value
  return done({
    wallet: await walletOf(deps.ledger, account.row),
    plan: { state, plan, windows },
    ...used.value,
    recent: recent.value.items,
    keys: await countKeys(deps.db, account.row, deps.clock.now()),
  })
}
