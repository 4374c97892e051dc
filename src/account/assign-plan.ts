import { z } from 'zod'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { carryOutOrder } from './carry-out-order.ts'
import type { ChangeAccountDeps } from './change-account-status.ts'
import { isoTime } from './iso-time.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { parseExpiry } from './parse-expiry.ts'
import { nameArgument } from './plain-text.ts'
import { quoted } from './quoted.ts'
import { resolveAccount } from './resolve-account.ts'
import { type ShowPlanDeps, type SubscriptionView, subscriptionOf } from './show-plan.ts'

export const assignPlanArgs = z.strictObject({
  account: nameArgument,
  plan: nameArgument,
  /** A date, or a span from now such as `30d`; without one it runs until it is ended. */
  until: z.string().optional(),
})

export interface AssignPlanDeps extends ShowPlanDeps, ChangeAccountDeps {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'allowanceStandings' | 'assignPlan' | 'endPlan'>
}

/** Puts an account on a plan: a first one, another one, or the same one with another end. */
export async function assignPlan(
  deps: AssignPlanDeps,
  args: z.output<typeof assignPlanArgs>,
): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  if (account.status === 'closed') return refused('account_closed', `Account ${account.id} is closed.`)
  const { plans } = deps.catalog()
  const plan = plans.get(args.plan)
  if (plan === undefined) {
    const known = [...plans.keys()].join(', ') || 'none'
    return refused('plan_not_found', `The configuration has no plan ${quoted(args.plan)}. Plans: ${known}.`)
  }
  const endsAt = args.until === undefined ? undefined : parseExpiry(args.until, deps.clock.now())
  if (args.until !== undefined && endsAt === undefined) return unreadableMoment(args.until)
  const row = account.row as AccountRow
  const detail = `${plan.id}${endsAt === undefined ? '' : ` until ${isoTime(endsAt)}`}`
  return carryOutOrder(deps, { action: 'plan_ordered', target: account.id, account: row, detail }, async () => {
    await deps.ledger.assignPlan({ account: row, plan: plan.id, windows: plan.windows, endsAt })
    deps.forgetAccount(row)
    return { outcome: done(await subscriptionOf(deps, account)) }
  })
}

export const unreadableMoment = (text: string) =>
  refused(
    'invalid_expiry',
    `${JSON.stringify(text)} is not a time to come: write a date (2027-01-31) or a span (30d, 12h).`,
  )
