import { booksOf, type Subscription } from '../books/books.ts'
import { type AllowanceStanding, standingOfAllowance } from '../books/periods.ts'
import { runningSubscription } from '../books/subscriptions.ts'
import type { Allowance } from '../model/allowance.ts'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerCore } from './core.ts'

/** How an account stands on allowances: what its keys may still use, and until when. */
export interface AllowanceReport {
  readonly subscription: Subscription | undefined
  readonly standings: readonly AllowanceStanding[]
}

export async function allowanceStandings(
  core: LedgerCore,
  account: AccountRow,
  allowances: readonly Allowance[],
): Promise<AllowanceReport> {
  for (let loading = core.shelf.load(account); loading; loading = core.shelf.load(account)) await loading
  const books = booksOf(core.books, account)
  const at = core.now()
  return {
    subscription: runningSubscription(books, at),
    standings: allowances.map((allowance) => standingOfAllowance(books, allowance, at)),
  }
}
