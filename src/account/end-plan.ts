import { z } from 'zod'
import type { AccountRow } from '../model/ids.ts'
import { type AssignPlanDeps, unreadableMoment } from './assign-plan.ts'
import { carryOutOrder } from './carry-out-order.ts'
import { isoTime } from './iso-time.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { parseExpiry } from './parse-expiry.ts'
import { nameArgument } from './plain-text.ts'
import { resolveAccount } from './resolve-account.ts'
import { type SubscriptionView, subscriptionOf } from './show-plan.ts'

export const endPlanArgs = z.strictObject({
  account: nameArgument,
  /** A date, or a span from now; without one it ends at once. */
  at: z.string().optional(),
})

/** Requests that are running finish, and are settled where they were held. */
export async function endPlan(
  deps: AssignPlanDeps,
  args: z.output<typeof endPlanArgs>,
): Promise<Outcome<SubscriptionView>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const endsAt = args.at === undefined ? undefined : parseExpiry(args.at, deps.clock.now())
  if (args.at !== undefined && endsAt === undefined) return unreadableMoment(args.at)
  const row = account.row as AccountRow
  const detail = endsAt === undefined ? 'now' : `at ${isoTime(endsAt)}`
  return carryOutOrder(deps, { action: 'plan_end_ordered', target: account.id, account: row, detail }, async () => {
    const ended = await deps.ledger.endPlan({ account: row, ...(endsAt !== undefined && { endsAt }) })
    deps.forgetAccount(row)
    return {
      outcome:
        ended.kind === 'no-subscription' ? noSubscription(account.email) : done(await subscriptionOf(deps, account)),
    }
  })
}

const noSubscription = (email: string): Refused =>
  refused('no_subscription', `${email} has no running subscription. See: millrace plans show ${email}`)
