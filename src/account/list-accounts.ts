import { z } from 'zod'
import { everyAccount } from './every-account.ts'
import { done, type Outcome } from './outcome.ts'
import { type AccountSummary, type ShowAccountDeps, summarizeAccount } from './show-account.ts'

export const listAccountsArgs = z.strictObject({})

export async function listAccounts(deps: ShowAccountDeps): Promise<Outcome<{ accounts: AccountSummary[] }>> {
  const accounts: AccountSummary[] = []
  for await (const account of everyAccount(deps)) accounts.push(await summarizeAccount(deps, account))
  return done({ accounts })
}
