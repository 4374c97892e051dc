import { type Allowance, dayOfMonth } from '../../model/allowance.ts'
import type { AccountRow } from '../../model/ids.ts'
import { dollars, NANO_MAX, type NanoUsd } from '../../model/money.ts'
import { grant, isUnused } from './allowances.ts'
import { type AccountState, accountStateOf, type Change, type LedgerState, SIDES, type Subscription } from './state.ts'

/** A new plan, another one, or the same one with another end. */
export interface AssignPlan {
  readonly account: AccountRow
  readonly plan: string
  readonly windows: readonly Allowance[]
  readonly endsAt: number | undefined
  readonly at: number
}

export type PlanOutcome =
  | { readonly kind: 'changed'; readonly subscription: Subscription; readonly changes: readonly Change[] }
  | { readonly kind: 'unchanged'; readonly subscription: Subscription }
  | { readonly kind: 'no-subscription' }

export const runningSubscription = ({ subscription }: AccountState, at: number): Subscription | undefined =>
  subscription && (subscription.endsAt === undefined || subscription.endsAt > at) ? subscription : undefined

/** A builder key draws on the windows of the plan that runs, and on nothing without them. */
export function checkSubscription(
  account: AccountState,
  { allowances, plan }: { readonly allowances: readonly Allowance[]; readonly plan?: string | undefined },
  at: number,
): 'no-subscription' | 'plan-changed' | undefined {
  const running = runningSubscription(account, at)
  if (running === undefined || !allowances.some(({ unit }) => unit === 'quota')) return 'no-subscription'
  // A request that was on its way while the plan changed must not open windows of the old plan.
  return plan === undefined || plan === running.plan ? undefined : 'plan-changed'
}

/**
 * A larger allowance counts at once and usage stays; a smaller one counts for the windows that open from now on. Running
 * turns keep their holds, and the billing day stays as long as the subscription goes on.
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

export function endPlan(
  ledgerState: LedgerState,
  { account, endsAt, at }: Pick<AssignPlan, 'account' | 'at'> & { readonly endsAt: number },
): PlanOutcome {
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

/** An operator's credit of a wallet, or with a negative amount a refund or an adjustment. */
export interface TransferMoney {
  readonly account: AccountRow
  readonly kind: 'credit' | 'refund' | 'adjustment'
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
  readonly at: number
}

type TransferOutcome =
  | { readonly kind: 'transferred'; readonly changes: readonly Change[] }
  /** Amounts that running turns hold cannot be taken out. */
  | { readonly kind: 'short'; readonly available: NanoUsd }
  | TooMuch

/** More than one wallet, or the whole ledger (`books`), can hold. */
export interface TooMuch {
  readonly kind: 'too-much'
  readonly holder: 'wallet' | 'books'
  readonly most: NanoUsd
}

/** A billion dollars: a larger credit is a typing error. */
const WALLET_MAX = dollars(1_000_000_000n)
/** No balance exceeds everything that was ever put in, so each one fits into its row. */
const ISSUED_MAX = NANO_MAX

export function transferMoney(ledgerState: LedgerState, op: TransferMoney): TransferOutcome {
  const owner = accountStateOf(ledgerState, op.account)
  const { wallet } = owner
  const available = wallet.posted - wallet.held
  if (available + op.amount < 0n) return { kind: 'short', available: available as NanoUsd }
  const tooMuch = op.amount > 0n ? boundPassed(ledgerState, wallet.posted, op.amount) : undefined
  if (tooMuch) return tooMuch
  wallet.posted += op.amount
  ledgerState.issued += op.amount
  const { account, amount, reason, ref, at } = op
  return {
    kind: 'transferred',
    changes: [
      {
        kind: 'transferred',
        transfer: ledgerState.next.transfer++,
        transferKind: op.kind,
        unit: 'usd',
        account,
        bucket: wallet.row,
        contra: SIDES.usd.issued,
        amount,
        reason,
        ref,
        at,
        movement: ++owner.movements,
        balance: wallet.posted,
      },
      { kind: 'bucket-moved', bucket: wallet.row, posted: amount, held: 0n },
      { kind: 'bucket-moved', bucket: SIDES.usd.issued, posted: -amount, held: 0n },
    ],
  }
}

function boundPassed(ledgerState: LedgerState, posted: bigint, amount: bigint): TooMuch | undefined {
  if (posted + amount > WALLET_MAX) return { kind: 'too-much', holder: 'wallet', most: WALLET_MAX }
  if (ledgerState.issued + amount > ISSUED_MAX) return { kind: 'too-much', holder: 'books', most: ISSUED_MAX }
  return undefined
}
