import type { Subscription } from '../books/books.ts'
import { booksOf } from '../books/books.ts'
import { type AllowanceStanding, standingOfAllowance } from '../books/periods.ts'
import { type PlanOutcome, runningSubscription } from '../books/subscriptions.ts'
import type { Allowance } from '../model/allowance.ts'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerCore } from './core.ts'
import { record } from './record.ts'

const READ_BACK_WAIT_MS = 10_000

/** A change of an account's subscription, durable before anybody hears of it. */
export async function changePlan(
  core: LedgerCore,
  account: AccountRow,
  change: (at: number) => PlanOutcome,
): Promise<PlanOutcome> {
  if (!(await core.gate.whenOpen(READ_BACK_WAIT_MS)))
    throw new Error('The ledger is being read back; nothing was changed')
  for (let loading = core.shelf.load(account); loading; loading = core.shelf.load(account)) await loading
  // From here to the enqueue nothing waits.
  if (!core.gate.open) throw new Error('The ledger failed meanwhile; nothing was changed')
  const outcome = change(core.now())
  if (outcome.kind !== 'changed') return outcome
  if ((await record(core, account, outcome.changes)) === 'lost')
    throw new Error('The ledger could not record the change; nothing was changed')
  return outcome
}

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
