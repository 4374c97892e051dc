import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { ChangeAccountDeps } from '../accounts/change-account-status.ts'
import { type OneAccount, resolveAccount, resolveOpenAccount } from '../accounts/one-account.ts'
import { isoTime, parseExpiry, unreadableMoment } from '../moments.ts'
import { quoted } from '../naming.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import { carryOutOrder } from '../trail/trail.ts'
import { type ShowPlanDeps, type SubscriptionView, subscriptionOf } from './plan-of-account.ts'

export interface PlanOrder extends OneAccount {
  readonly plan: string
  /** A moment to come; without one it runs until it is ended. */
  readonly until?: string | undefined
}

export interface AssignPlanDeps extends ShowPlanDeps, ChangeAccountDeps {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'allowanceStandings' | 'assignPlan' | 'endPlan'>
}

/** Puts an account on a plan: a first one, another one, or the same one with another end. */
export async function assignPlan(deps: AssignPlanDeps, args: PlanOrder): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveOpenAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const { plans } = deps.catalog()
  const plan = plans.get(args.plan)
  if (plan === undefined) {
    const known = [...plans.keys()].join(', ') || 'none'
    return refused('plan_not_found', `The configuration has no plan ${quoted(args.plan)}. Plans: ${known}.`, {
      param: 'plan',
    })
  }
  const endsAt = args.until === undefined ? undefined : parseExpiry(args.until, deps.clock.now())
  if (args.until !== undefined && endsAt === undefined) return unreadableMoment(args.until, 'until')
  const row = account.row as AccountRow
  const detail = `${plan.id}${endsAt === undefined ? '' : ` until ${isoTime(endsAt)}`}`
  return carryOutOrder(deps, { action: 'plan_ordered', target: account.id, account: row, detail }, async () => {
    const order = { account: row, plan: plan.id, windows: plan.windows, endsAt }
    await deps.ledger.assignPlan(order).finally(() => deps.forgetAccount(row))
    return { outcome: done(await subscriptionOf(deps, account)) }
  })
}

export interface PlanEnd extends OneAccount {
  /** A moment to come; without one it ends at once. */
  readonly at?: string | undefined
}

/** Requests that are running finish, and are settled where they were held. */
export async function endPlan(deps: AssignPlanDeps, args: PlanEnd): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const endsAt = args.at === undefined ? undefined : parseExpiry(args.at, deps.clock.now())
  if (args.at !== undefined && endsAt === undefined) return unreadableMoment(args.at, 'at')
  const row = account.row as AccountRow
  const detail = endsAt === undefined ? 'now' : `at ${isoTime(endsAt)}`
  return carryOutOrder(deps, { action: 'plan_end_ordered', target: account.id, account: row, detail }, async () => {
    const order = { account: row, ...(endsAt !== undefined && { endsAt }) }
    const ended = await deps.ledger.endPlan(order).finally(() => deps.forgetAccount(row))
    return {
      outcome:
        ended.kind === 'no-subscription' ? noSubscription(account.email) : done(await subscriptionOf(deps, account)),
    }
  })
}

const noSubscription = (email: string): Refused =>
  refused('no_subscription', `${email} has no running subscription. See: millrace plans show ${email}`)
