import type { z } from 'zod'
import type { walletAnswer } from '../contract/wallet.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerDb } from '../store/tables.ts'
import { walletOf } from './account-view.ts'
import { openWish } from './open-wish.ts'
import { runningOnWallet } from './running-requests.ts'

export interface WalletStandingDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'standing'>
}

/** A wallet as the next admission sees it, with what is on its way out and what was asked for. */
export async function walletStanding(
  deps: WalletStandingDeps,
  account: AccountRow,
): Promise<z.output<typeof walletAnswer>> {
  const { running } = await runningOnWallet(deps, account)
  return { ...(await walletOf(deps.ledger, account)), running, asked: await openWish(deps, account) }
}
