import type { z } from 'zod'
import type { Ledger } from '../ledger/ledger.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type WalletView, walletOf } from './account-view.ts'
import type { oneAccountArgs } from './change-account-status.ts'
import { done, type Outcome } from './outcome.ts'
import { resolveAccount } from './resolve-account.ts'

export interface ShowWalletDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'standing'>
}

export interface WalletStanding extends WalletView {
  readonly account: string
  readonly email: string
  readonly currency: 'USD'
}

export async function showWallet(
  deps: ShowWalletDeps,
  args: z.output<typeof oneAccountArgs>,
): Promise<Outcome<WalletStanding>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const wallet = await walletOf(deps.ledger, account.row)
  return done({ account: account.id, email: account.email, currency: 'USD', ...wallet })
}
