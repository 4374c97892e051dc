import { z } from 'zod'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { mintAccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { findAccountByEmail, insertAccount } from '../store/accounts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type AccountView, accountView } from './account-view.ts'
import { emailArgument } from './email.ts'
import { done, type Outcome, refused } from './outcome.ts'

export const createAccountArgs = z.strictObject({ email: emailArgument })

export interface CreateAccountDeps {
  readonly db: LedgerDb
  readonly file: SqliteFile
  readonly clock: Clock
  readonly random: RandomBytes
}

/** An account and its empty wallet, in one step. */
export async function createAccount(
  deps: CreateAccountDeps,
  { email }: z.output<typeof createAccountArgs>,
): Promise<Outcome<AccountView>> {
  const order = { id: mintAccountId(deps.random), email, createdAt: deps.clock.now() }
  const inserted = await insertAccount(deps.file, order)
  const account = await findAccountByEmail(deps.db, email)
  if (account === undefined) throw new Error(`The account of ${email} is not there after it was made`)
  if (inserted === 'inserted') return done(accountView(account))
  return refused('account_exists', `${email} has an account already: ${account.id}`)
}
