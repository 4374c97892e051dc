import { z } from 'zod'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { StoredAccount } from '../../store/accounts.ts'
import { listKeysOfAccount } from '../../store/keys.ts'
import { keyStateOf } from '../keys/key-view.ts'
import { done, type Outcome } from '../outcome.ts'
import { type ShowPlanDeps, type SubscriptionView, subscriptionOf } from '../plans/show-plan.ts'
import type { oneAccountArgs } from './change-account-status.ts'
import { everyAccount } from './every-account.ts'
import { type AccountView, accountView, resolveAccount, type WalletView, walletOf } from './one-account.ts'

export interface ShowAccountDeps extends ShowPlanDeps {
  readonly ledger: Pick<Ledger, 'standing' | 'allowanceStandings'>
  readonly clock: Clock
}

export interface AccountSummary extends AccountView {
  readonly wallet: WalletView
  readonly plan: Pick<SubscriptionView, 'state' | 'plan' | 'until'>
  readonly active_keys: number
}

export async function showAccount(
  deps: ShowAccountDeps,
  args: z.output<typeof oneAccountArgs>,
): Promise<Outcome<AccountSummary>> {
  const resolved = await resolveAccount(deps, args.account)
  return resolved.kind === 'found' ? done(await summarizeAccount(deps, resolved.account)) : resolved
}

export async function summarizeAccount(deps: ShowAccountDeps, account: StoredAccount): Promise<AccountSummary> {
  const keys = await listKeysOfAccount(deps.db, account.row)
  const now = deps.clock.now()
  const { state, plan, until } = await subscriptionOf(deps, account)
  return {
    ...accountView(account),
    wallet: await walletOf(deps.ledger, account.row),
    plan: { state, plan, until },
    active_keys: keys.filter((key) => keyStateOf(key, now) === 'active').length,
  }
}

export const listAccountsArgs = z.strictObject({})

export async function listAccounts(deps: ShowAccountDeps): Promise<Outcome<{ accounts: AccountSummary[] }>> {
  const accounts: AccountSummary[] = []
  for await (const account of everyAccount(deps)) accounts.push(await summarizeAccount(deps, account))
  return done({ accounts })
}
