import type { z } from 'zod'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { StoredAccount } from '../../store/accounts.ts'
import { findSubscription } from '../../store/subscriptions.ts'
import type { LedgerDb } from '../../store/tables.ts'
import type { oneAccountArgs } from '../accounts/change-account-status.ts'
import { resolveAccount } from '../accounts/one-account.ts'
import { isoTimeOrNull } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { type WindowView, windowView } from './allowance-view.ts'

export interface ShowPlanDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'allowanceStandings'>
  readonly catalog: () => Pick<Catalog, 'plans'>
}

/** `not_configured`: the subscription runs, but the configuration has no such plan (any more): nothing can be used. */
export type SubscriptionState = 'none' | 'active' | 'ended' | 'not_configured'

/** What an account is subscribed to, and how its windows stand. */
export interface SubscriptionView {
  readonly account: string
  readonly email: string
  readonly state: SubscriptionState
  readonly plan: string | null
  /** Since when on this plan. */
  readonly since: string | null
  readonly until: string | null
  /** The day of the month on which its months turn. */
  readonly billing_day: number | null
  readonly windows: readonly WindowView[]
}

export async function showPlan(
  deps: ShowPlanDeps,
  args: z.output<typeof oneAccountArgs>,
): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  return resolved.kind === 'found' ? done(await subscriptionOf(deps, resolved.account)) : resolved
}

export function subscriptionStateOf(known: {
  readonly newest: object | undefined
  readonly plan: object | undefined
  readonly runs: boolean
}): SubscriptionState {
  if (known.newest === undefined) return 'none'
  if (!known.runs) return 'ended'
  return known.plan === undefined ? 'not_configured' : 'active'
}

export async function subscriptionOf(deps: ShowPlanDeps, account: StoredAccount): Promise<SubscriptionView> {
  const newest = await findSubscription(deps.db, account.row)
  const plan = newest && deps.catalog().plans.get(newest.plan)
  const report = await deps.ledger.allowanceStandings(account.row as AccountRow, plan?.windows ?? [])
  const runs = report.subscription !== undefined
  return {
    account: account.id,
    email: account.email,
    state: subscriptionStateOf({ newest, plan, runs }),
    plan: newest?.plan ?? null,
    since: isoTimeOrNull(newest?.started_at ?? null),
    until: isoTimeOrNull(newest?.ends_at ?? null),
    billing_day: newest?.billing_day ?? null,
    windows: runs ? report.standings.map(windowView) : [],
  }
}
