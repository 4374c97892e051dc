import type { z } from 'zod'
import type { walletAnswer } from '../../contract/wallet.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd } from '../../model/money.ts'
import { sumRunning } from '../../store/account-requests.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type OneAccount, resolveAccount, type WalletView, walletOf } from '../accounts/one-account.ts'
import { done, type Outcome } from '../outcome.ts'
import { openWish } from './wishes.ts'

export interface WalletStandingDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'standing'>
}

export interface WalletStanding extends WalletView {
  readonly account: string
  readonly email: string
  readonly currency: 'USD'
}

export async function showWallet(deps: WalletStandingDeps, args: OneAccount): Promise<Outcome<WalletStanding>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const wallet = await walletOf(deps.ledger, account.row)
  return done({ account: account.id, email: account.email, currency: 'USD', ...wallet })
}

/** Requests of an account that run on its wallet now, and what they hold of it. */
async function runningOnWallet(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
): Promise<{ readonly running: number; readonly held: string }> {
  const { requests, held_nano } = await sumRunning(db, account, 'wallet')
  return { running: requests, held: formatUsd(held_nano) }
}

/** A wallet as the next admission sees it, with what is on its way out and what was asked for. */
export async function walletStanding(
  deps: WalletStandingDeps,
  account: AccountRow,
): Promise<z.output<typeof walletAnswer>> {
  const { running } = await runningOnWallet(deps, account)
  return { ...(await walletOf(deps.ledger, account)), running, asked: await openWish(deps, account) }
}
