import type { z } from 'zod'
import type { overviewAnswer } from '../contract/overview.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import { countKeys } from '../store/keys.ts'
import { walletOf } from './accounts/one-account.ts'
import { type OfferedModelsDeps, suggestModel } from './models/offered-models.ts'
import { done, type Outcome } from './outcome.ts'
import { type PlanStandingDeps, planStanding } from './plans/plan-standing.ts'
import { listRequests } from './requests/list-requests.ts'

export interface OverviewDeps extends PlanStandingDeps, OfferedModelsDeps {
  readonly db: PlanStandingDeps['db']
  readonly clock: OfferedModelsDeps['clock']
  readonly catalog: OfferedModelsDeps['catalog']
  readonly ledger: PlanStandingDeps['ledger'] & Pick<Ledger, 'standing'>
}

const RECENT = 10

/** How an account stands, on one page: what is left, and what has just run. What it has used is `usageOverview`. */
export async function overview(deps: OverviewDeps, row: AccountRow): Promise<Outcome<z.output<typeof overviewAnswer>>> {
  const requests = await listRequests(deps, row, { limit: RECENT })
  if (requests.kind === 'refused') return requests
  const recent = requests.value.items
  const standing = await planStanding(deps, row)
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
