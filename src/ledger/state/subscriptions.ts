import { type Allowance, dayOfMonth } from '../../model/allowance.ts'
import type { AccountRow } from '../../model/ids.ts'
import { grant, isUnused } from './allowances.ts'
import { type AccountState, accountStateOf, type Change, type LedgerState, type Subscription } from './state.ts'

/** A plan for an account, by the operator's word: a new one, another one, or the same one with another end. */
export interface AssignPlan {
  readonly account: AccountRow
  readonly plan: string
  readonly windows: readonly Allowance[]
  readonly endsAt: number | undefined
  readonly at: number
}

interface EndPlan {
  readonly account: AccountRow
  readonly endsAt: number
  readonly at: number
}

export type PlanOutcome =
  | { readonly kind: 'changed'; readonly subscription: Subscription; readonly changes: readonly Change[] }
  | { readonly kind: 'unchanged'; readonly subscription: Subscription }
  | { readonly kind: 'no-subscription' }

export const runningSubscription = ({ subscription }: AccountState, at: number): Subscription | undefined =>
  subscription && (subscription.endsAt === undefined || subscription.endsAt > at) ? subscription : undefined

interface DrawnWindows {
  readonly allowances: readonly Allowance[]
  readonly plan?: string | undefined
  readonly at: number
}

/** A builder key draws on the windows of the plan that runs, and on nothing without them. */
export function lackOfSubscription(
  account: AccountState,
  { allowances, plan, at }: DrawnWindows,
): 'no-subscription' | 'plan-changed' | undefined {
  const running = runningSubscription(account, at)
  if (running === undefined || !allowances.some(({ unit }) => unit === 'quota')) return 'no-subscription'
  // The windows of the old plan must not be opened by a request that was on its way while the plan changed.
  return plan === undefined || plan === running.plan ? undefined : 'plan-changed'
}

/**
 * More allowance counts at once, and what was used stays used; less counts for the windows that open from now on. Turns
 * that run keep what they hold, and the day of billing stays as long as the subscription goes on.
 */
export function assignPlan(ledgerState: LedgerState, op: AssignPlan): PlanOutcome {
  const account = accountStateOf(ledgerState, op.account)
  const { plan, endsAt, at } = op
  const running = runningSubscription(account, at)
  if (running?.plan === plan) {
    return running.endsAt === endsAt ? { kind: 'unchanged', subscription: running } : endAt(running, endsAt)
  }
  const ended = running ? endAt(running, at).changes : []
  const subscription: Subscription = {
    row: ledgerState.next.subscription++,
    plan,
    billingDay: running?.billingDay ?? dayOfMonth(at),
    startedAt: at,
    endsAt,
  }
  account.subscription = subscription
  const { row, billingDay } = subscription
  const started: Change = {
    kind: 'subscription-started',
    subscription: row,
    account: op.account,
    plan,
    billingDay,
    startedAt: at,
    endsAt,
  }
  const widened = op.windows.flatMap((window) => widen(ledgerState, account, window, at))
  return { kind: 'changed', subscription, changes: [...ended, started, ...widened] }
}

export function endPlan(ledgerState: LedgerState, { account, endsAt, at }: EndPlan): PlanOutcome {
  const running = runningSubscription(accountStateOf(ledgerState, account), at)
  if (!running) return { kind: 'no-subscription' }
  return running.endsAt === endsAt ? { kind: 'unchanged', subscription: running } : endAt(running, endsAt)
}

function endAt(subscription: Subscription, endsAt: number | undefined) {
  subscription.endsAt = endsAt
  const ended: Change = { kind: 'subscription-ended', subscription: subscription.row, endsAt }
  return { kind: 'changed' as const, subscription, changes: [ended] }
}

function widen(
  ledgerState: LedgerState,
  account: AccountState,
  { subject, amount }: Allowance,
  at: number,
): readonly Change[] {
  const running = account.periods.get(subject)
  if (!running || running.end <= at || isUnused(running) || running.granted >= amount) return []
  return grant(ledgerState, account, running, amount - running.granted, at)
}
