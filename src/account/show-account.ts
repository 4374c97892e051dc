import type { z } from 'zod'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { StoredAccount } from '../store/accounts.ts'
import { listKeysOfAccount } from '../store/keys.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type AccountView, accountView, type WalletView, walletOf } from './account-view.ts'
import type { oneAccountArgs } from './change-account-status.ts'
import { keyStateOf } from './key-view.ts'
import { done, type Outcome } from './outcome.ts'
import { resolveAccount } from './resolve-account.ts'

export interface ShowAccountDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'standing'>
  readonly clock: Clock
}

export interface AccountSummary extends AccountView {
  readonly wallet: WalletView
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
  return {
    ...accountView(account),
    wallet: await walletOf(deps.ledger, account.row),
    active_keys: keys.filter((key) => keyStateOf(key, now) === 'active').length,
  }
}
