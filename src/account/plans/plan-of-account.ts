import type { Catalog, Plan } from '../../catalog/catalog.ts'
import type { Ledger } from '../../ledger/ledger.ts'
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
  readonly ledger: Pick<Ledger, 'allowanceStandings'>
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
export async function planOfAccount(deps: PlanOfAccountDeps, account: AccountRow): Promise<PlanOfAccount> {
  const newest = await findSubscription(deps.db, account)
  if (newest === undefined) return { state: 'none', newest, configured: undefined }
  const configured = deps.catalog().plans.get(newest.plan)
  // By the time of the books, which never goes back: by the machine's clock a plan that was ended could run again.
  const { subscription } = await deps.ledger.allowanceStandings(account, [])
  if (subscription === undefined) return { state: 'ended', newest, configured }
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

export type ShowPlanDeps = PlanOfAccountDeps

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
  const plan = await planOfAccount(deps, row as AccountRow)
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
