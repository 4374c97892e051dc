import type { Catalog, Plan } from '../../catalog/catalog.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { StoredAccount } from '../../store/accounts.ts'
import { findSubscription, type StoredSubscription } from '../../store/subscriptions.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type OneAccount, resolveAccount } from '../accounts/one-account.ts'
import { isoTimeOrNull } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { type WindowView, windowView } from './allowance-view.ts'

export interface PlanOfAccountDeps {
  readonly db: LedgerDb
  readonly clock: Pick<Clock, 'now'>
  readonly catalog: () => Pick<Catalog, 'plans'>
}

/** `not_configured`: the subscription runs, but the configuration has no such plan (any more): nothing can be used. */
export type SubscriptionState = 'none' | 'active' | 'ended' | 'not_configured'

export interface PlanOfAccount {
  readonly state: SubscriptionState
  /** The newest subscription, running or ended. */
  readonly newest: StoredSubscription | undefined
  /** Its plan, as the configuration has it now. */
  readonly configured: Plan | undefined
}

/** What an account is subscribed to at this moment. Whoever asks that asks here; the books decide alike when a request comes. */
export async function planOfAccount(deps: PlanOfAccountDeps, account: number): Promise<PlanOfAccount> {
  const newest = await findSubscription(deps.db, account)
  if (newest === undefined) return { state: 'none', newest, configured: undefined }
  const configured = deps.catalog().plans.get(newest.plan)
  const runs = newest.ends_at === null || newest.ends_at > deps.clock.now()
  if (!runs) return { state: 'ended', newest, configured }
  return { state: configured === undefined ? 'not_configured' : 'active', newest, configured }
}

export interface SubscriptionFacts {
  readonly state: SubscriptionState
  readonly plan: string | null
  /** Since when on this plan. */
  readonly since: string | null
  readonly until: string | null
  /** The day of the month on which its months turn. */
  readonly billing_day: number | null
}

export const subscriptionFacts = ({ state, newest }: PlanOfAccount): SubscriptionFacts => ({
  state,
  plan: newest?.plan ?? null,
  since: isoTimeOrNull(newest?.started_at ?? null),
  until: isoTimeOrNull(newest?.ends_at ?? null),
  billing_day: newest?.billing_day ?? null,
})

export interface ShowPlanDeps extends PlanOfAccountDeps {
  readonly ledger: Pick<Ledger, 'allowanceStandings'>
}

/** What an account is subscribed to, and how its windows stand. */
export interface SubscriptionView extends SubscriptionFacts {
  readonly account: string
  readonly email: string
  readonly windows: readonly WindowView[]
}

export async function showPlan(deps: ShowPlanDeps, args: OneAccount): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  return resolved.kind === 'found' ? done(await subscriptionOf(deps, resolved.account)) : resolved
}

export async function subscriptionOf(deps: ShowPlanDeps, account: StoredAccount): Promise<SubscriptionView> {
  const { id, email, row } = account
  const plan = await planOfAccount(deps, row)
  const windows = (await standingsOf(deps, row as AccountRow, plan)).map(windowView)
  return { account: id, email, ...subscriptionFacts(plan), windows }
}

/** Its windows as the next admission sees them; none of a plan that cannot be used. */
export async function standingsOf(
  { ledger }: Pick<ShowPlanDeps, 'ledger'>,
  account: AccountRow,
  { state, configured }: PlanOfAccount,
) {
  if (state !== 'active' || configured === undefined) return []
  return (await ledger.allowanceStandings(account, configured.windows)).standings
}
