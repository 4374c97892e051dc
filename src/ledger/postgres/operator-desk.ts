import type { Claim, Subscription } from '../../books/books.ts'
import type { PlanOutcome } from '../../books/subscriptions.ts'
import type { NanoUsd } from '../../model/money.ts'
import { asJson } from '../../store/postgres/postgres-pool.ts'
import type { AccountStanding, CreditOutcome, Ledger } from '../ledger.ts'
import { type AmountsRow, allowanceStandingOf } from './admit-row.ts'
import type { PostgresCore } from './postgres-core.ts'

type Desk = Pick<Ledger, 'standing' | 'credit' | 'lookUpClaim' | 'allowanceStandings' | 'assignPlan' | 'endPlan'>

/** What is asked and ordered by people, one call each. */
export const operatorDesk = (core: PostgresCore): Desk => ({
  async standing(account) {
    const row = await core.call<StandingRow | null>('account_standing($1)', [account])
    if (!row) throw new Error(`Account ${account} has no wallet`)
    return accountStandingOf(row)
  },
  credit: async (order) => creditOutcomeOf(await core.call<CreditRow>('transfer_money($1)', [asJson(order)])),
  async lookUpClaim(scope) {
    const { at, claim } = await core.call<LookedUpRow>(LOOK_UP_CLAIM, [scope])
    // Only a hint: whether the key is free is decided with the hold. What this reads has been committed.
    return { claim: claim ?? undefined, at, durable: Promise.resolve('durable'), leave() {} }
  },
  async allowanceStandings(account, allowances) {
    const report = await core.call<ReportRow>('allowance_report($1, $2)', [account, asJson(allowances)])
    const standings = allowances.flatMap((allowance, index) => {
      const amounts = report.draws[index]
      return amounts ? [allowanceStandingOf(allowance, amounts)] : []
    })
    return { subscription: report.subscription ? subscriptionOf(report.subscription) : undefined, standings }
  },
  assignPlan: async (order) => planOutcomeOf(await core.call<PlanRow>('assign_plan($1)', [asJson(order)])),
  endPlan: async ({ account, endsAt }) =>
    planOutcomeOf(await core.call<PlanRow>('end_plan($1, $2)', [account, endsAt])),
})

const LOOK_UP_CLAIM = `jsonb_build_object('at', ledger_micros() / 1000,
  'claim', standing_claim($1, ledger_micros() / 1000))`

interface LookedUpRow {
  readonly at: number
  readonly claim: Claim | null
}

type StandingRow = Readonly<Record<keyof AccountStanding, string>>

type CreditRow =
  | { readonly kind: 'credited' | 'exists' | 'short'; readonly standing: StandingRow }
  | { readonly kind: 'ref-taken'; readonly amount: string }
  | { readonly kind: 'too-much'; readonly holder: 'wallet' | 'books'; readonly most: string }

interface ReportRow {
  readonly draws: readonly AmountsRow[]
  readonly subscription: SubscriptionRow | null
}

type SubscriptionRow = Omit<Subscription, 'endsAt'> & { readonly endsAt: number | null }

type PlanRow =
  | { readonly kind: 'changed' | 'unchanged'; readonly subscription: SubscriptionRow }
  | { readonly kind: 'no-subscription' }

const nano = (text: string) => BigInt(text) as NanoUsd

const accountStandingOf = ({ balance, held, available }: StandingRow): AccountStanding => ({
  balance: nano(balance),
  held: nano(held),
  available: nano(available),
})

function creditOutcomeOf(row: CreditRow): CreditOutcome {
  if (row.kind === 'ref-taken') return { kind: row.kind, amount: nano(row.amount) }
  if (row.kind === 'too-much') return { ...row, most: nano(row.most) }
  return { kind: row.kind, standing: accountStandingOf(row.standing) }
}

const subscriptionOf = (row: SubscriptionRow): Subscription => ({ ...row, endsAt: row.endsAt ?? undefined })

function planOutcomeOf(row: PlanRow): PlanOutcome {
  if (row.kind === 'no-subscription') return row
  const subscription = subscriptionOf(row.subscription)
  // What it changed is written already.
  return row.kind === 'changed' ? { kind: row.kind, subscription, changes: [] } : { kind: row.kind, subscription }
}
