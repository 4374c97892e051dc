import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import { countKeys } from '../../store/keys.ts'
import { done, type Outcome } from '../outcome.ts'
import {
  type PlanOfAccountDeps,
  planOfAccount,
  type SubscriptionFacts,
  subscriptionFacts,
} from '../plans/plan-of-account.ts'
import {
  type AccountView,
  accountView,
  type OneAccount,
  resolveAccount,
  type WalletView,
  walletOf,
} from './one-account.ts'

export interface ShowAccountDeps extends PlanOfAccountDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly ledger: PlanOfAccountDeps['ledger'] & Pick<Ledger, 'standing'>
}

export interface AccountSummary extends AccountView {
  readonly wallet: WalletView
  readonly plan: Pick<SubscriptionFacts, 'state' | 'plan' | 'until'>
  /** Those of the playground aside. */
  readonly active_keys: number
}

export async function showAccount(deps: ShowAccountDeps, args: OneAccount): Promise<Outcome<AccountSummary>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const { state, plan, until } = subscriptionFacts(await planOfAccount(deps, account.row as AccountRow))
  const { active } = await countKeys(deps.db, account.row, deps.clock.now())
  return done({
    ...accountView(account),
    wallet: await walletOf(deps.ledger, account.row),
    plan: { state, plan, until },
    active_keys: active,
  })
}
