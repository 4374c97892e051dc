import { z } from 'zod'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { inUsd } from '../model/money.ts'
import { findAccountByRow } from '../store/accounts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { wishPut } from '../store/wishes.ts'
import { openWish, type WishView } from './open-wish.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { plainNote } from './plain-text.ts'
import { readAmount } from './read-amount.ts'
import type { Trail } from './trail.ts'

export const askForFundsArgs = z.strictObject({ amount: z.string(), note: plainNote(500) })

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
  args: z.output<typeof askForFundsArgs>,
): Promise<Outcome<WishView | null>> {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const owner = await findAccountByRow(deps.db, account)
  if (owner?.status === 'closed') return refused('account_closed', `Account ${owner.id} is closed.`)
  const wish = { account, amount_nano: read.amount, note: args.note, at: deps.clock.now() }
  const detail = inUsd(read.amount)
  await deps.trail.act({ action: 'funds_asked', account, detail }, [wishPut(deps.db, wish)])
  // Read back: a credit may have answered it in the same moment.
  return done(await openWish(deps, account))
}
