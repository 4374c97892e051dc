import { z } from 'zod'
import type { AccountRow } from '../model/ids.ts'
import { type AssignPlanDeps, unreadableMoment } from './assign-plan.ts'
import { done, type Outcome, refused } from './outcome.ts'
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
  const outcome = await deps.ledger.endPlan({ account: row, ...(endsAt !== undefined && { endsAt }) })
  deps.forgetAccount(row)
  if (outcome.kind !== 'no-subscription') return done(await subscriptionOf(deps, account))
  return refused(
    'no_subscription',
    `${account.email} has no running subscription. See: millrace plans show ${account.email}`,
  )
}
