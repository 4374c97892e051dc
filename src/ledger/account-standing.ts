import { type AccountBooks, availableIn } from '../books/books.ts'
import { standingOfAllowance } from '../books/periods.ts'
import { runningSubscription } from '../books/subscriptions.ts'
import type { Allowance } from '../model/allowance.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import type { LedgerCore } from './core.ts'
import type { AccountStanding, AllowanceReport } from './ledger.ts'

/** The account as memory knows it: exact, and what the next admission decides on. */
export const standingOf = ({ wallet }: AccountBooks): AccountStanding => ({
  balance: wallet.posted as NanoUsd,
  held: wallet.held as NanoUsd,
  available: availableIn(wallet) as NanoUsd,
})

/** What its keys may still use of these allowances, and until when. */
export const allowanceReport = (
  core: LedgerCore,
  account: AccountRow,
  allowances: readonly Allowance[],
): Promise<AllowanceReport> =>
  core.shelf.withBooks(account, (books) => {
    const at = core.now()
    return {
      subscription: runningSubscription(books, at),
      standings: allowances.map((allowance) => standingOfAllowance(books, allowance, at)),
    }
  })
