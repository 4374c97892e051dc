import { findAccountByEmail, findAccountById, type StoredAccount } from '../store/accounts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { normalizeEmail } from './email.ts'
import { type Refused, refused } from './outcome.ts'
import { quoted } from './quoted.ts'

export type ResolvedAccount = { readonly kind: 'found'; readonly account: StoredAccount } | Refused

/** Wherever an operator names an account, the id and the e-mail will do. */
export async function resolveAccount(deps: { db: LedgerDb }, named: string): Promise<ResolvedAccount> {
  const account = named.includes('@')
    ? await findAccountByEmail(deps.db, normalizeEmail(named))
    : await findAccountById(deps.db, named.trim())
  if (account !== undefined) return { kind: 'found', account }
  return refused('account_not_found', `There is no account ${quoted(named)}. See: millrace accounts list`)
}
