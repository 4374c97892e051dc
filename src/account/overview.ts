import type { z } from 'zod'
import type { overviewAnswer } from '../contract/overview.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import { countKeys } from '../store/keys.ts'
import { walletOf } from './account-view.ts'
import { listRequests } from './list-requests.ts'
import { done, type Outcome } from './outcome.ts'
import { type PlanStandingDeps, planStanding } from './plan-standing.ts'

export interface OverviewDeps extends PlanStandingDeps {
  readonly ledger: PlanStandingDeps['ledger'] & Pick<Ledger, 'standing'>
}

const RECENT = 10

/** How an account stands, on one page: what is left, and what has just run. What it has used is `usageOverview`. */
export async function overview(
  deps: OverviewDeps,
  { row }: { readonly row: AccountRow },
): Promise<Outcome<z.output<typeof overviewAnswer>>> {
  const recent = await listRequests(deps, row, { limit: RECENT })
  if (recent.kind === 'refused') return recent
  const standing = await planStanding(deps, row)
  if (standing.kind === 'refused') return standing
  const { state, plan, windows } = standing.value
  return done({
    wallet: await walletOf(deps.ledger, row),
    plan: { state, plan, windows },
    recent: recent.value.items,
    keys: await countKeys(deps.db, row, deps.clock.now()),
  })
}
