import type { z } from 'zod'
import type { createAccountBody } from '../../contract/operate.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import { mintAccountId } from '../../model/ids.ts'
import { isAlreadyThere } from '../../sqlite/sqlite-failure.ts'
import { accountInserts, findAccountByEmail } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import type { Trail } from '../trail/trail.ts'
import { type AccountView, accountView } from './one-account.ts'

export interface CreateAccountDeps {
  readonly db: LedgerDb
  readonly trail: Trail
  readonly clock: Clock
  readonly random: RandomBytes
}

/** An account and its empty wallet, in one step. */
export async function createAccount(
  deps: CreateAccountDeps,
  { email }: z.output<typeof createAccountBody>,
): Promise<Outcome<AccountView>> {
  const order = { id: mintAccountId(deps.random), email, createdAt: deps.clock.now() }
  const isNew = await insert(deps, order)
  const account = await findAccountByEmail(deps.db, email)
  if (account === undefined) throw new Error(`The account of ${email} is not there after it was made`)
  if (isNew) return done(accountView(account))
  return refused('account_exists', `${email} has an account already: ${account.id}`, { param: 'email' })
}

/** Its row comes to be in this very step, so that the trail cannot name it: the line is the operators' alone. */
async function insert({ trail }: CreateAccountDeps, order: Parameters<typeof accountInserts>[0]): Promise<boolean> {
  try {
    return await trail.act({ action: 'account_created', target: order.id, detail: order.email }, accountInserts(order))
  } catch (error) {
    if (isAlreadyThere(error) && error.message.includes('accounts.email')) return false
    throw error
  }
}
