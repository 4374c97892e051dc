import type { z } from 'zod'
import type { fundWish } from '../../contract/operate.ts'
import type { PageQuery } from '../../contract/values.ts'
import type { askForFundsBody, wish } from '../../contract/wallet.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd, inUsd } from '../../model/money.ts'
import { findAccountByRow } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { findOpenWish, listOpenWishes, type StoredWish, wishPut } from '../../store/wishes.ts'
import { accountClosed } from '../accounts/one-account.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { cutPage, type Page, readCursor, writeCursor } from '../pages.ts'
import { readAmount } from '../read-amount.ts'
import type { Trail } from '../trail/trail.ts'

/** What an account has asked the operator for. */
type WishView = z.output<typeof wish>

const wishView = ({ amount_nano, note, at }: StoredWish): WishView => ({
  amount: formatUsd(amount_nano),
  note,
  at: isoTime(at),
})

/** Null when there is none, or the operator has answered it with a credit. */
export async function openWish(deps: { readonly db: LedgerDb }, account: AccountRow): Promise<WishView | null> {
  const open = await findOpenWish(deps.db, account)
  return open === undefined ? null : wishView(open)
}

export interface AskForFundsDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly trail: Trail
}

/**
 * Says to the operator that funds are wanted, where no card can be charged. The next credit answers it. Asking again
 * changes what is asked for, so that nobody fills the operator's list.
 */
export async function askForFunds(
  deps: AskForFundsDeps,
  account: AccountRow,
  args: z.output<typeof askForFundsBody>,
): Promise<Outcome<WishView | null>> {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const owner = await findAccountByRow(deps.db, account)
  if (owner?.status === 'closed') return accountClosed(owner)
  const order = { account, amount_nano: read.amount, note: args.note, at: deps.clock.now() }
  const detail = inUsd(read.amount)
  await deps.trail.act({ action: 'funds_asked', account, detail }, [wishPut(deps.db, order)])
  // Read back: a credit may have answered it in the same moment.
  return done(await openWish(deps, account))
}

/**
 * Who has asked for funds and not got any, those who have waited longest first. A page is named by a number, because the
 * wish at its end may be answered before somebody turns it.
 */
export async function listWishes(
  deps: { readonly db: LedgerDb },
  { after, limit }: PageQuery,
): Promise<Outcome<Page<z.output<typeof fundWish>>>> {
  const shown = readCursor(after) ?? 0
  if (typeof shown !== 'number') return shown
  const read = await listOpenWishes(deps.db, { after: shown, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  const items = rows.map((row) => ({ account: row.account_id, email: row.email, ...wishView(row) }))
  return done({ items, next: writeCursor(next) })
}
