import type { z } from 'zod'
import type { wallet } from '../../contract/wallet.ts'
import type { AccountStanding, Ledger } from '../../ledger/ledger.ts'
import { shellWord } from '../../lib/anywhere/shell-word.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd } from '../../model/money.ts'
import { findAccountByEmail, findAccountById, type StoredAccount } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { isoTime } from '../moments.ts'
import { normalizeEmail, quoted } from '../naming.ts'
import { type Refused, refused } from '../outcome.ts'

/** What every operation on one account is asked with: its id or its e-mail. */
export interface OneAccount {
  readonly account: string
}

/** Of one account, or of all. */
export type AnyAccount = { readonly [Name in keyof OneAccount]?: string | undefined }

export type ResolvedAccount = { readonly kind: 'found'; readonly account: StoredAccount } | Refused

/** Wherever an operator names an account, the id and the e-mail will do. */
export async function resolveAccount(deps: { db: LedgerDb }, named: string): Promise<ResolvedAccount> {
  const account = named.includes('@')
    ? await findAccountByEmail(deps.db, normalizeEmail(named))
    : await findAccountById(deps.db, named.trim())
  if (account !== undefined) return { kind: 'found', account }
  const cure = named.includes('@')
    ? `To make it: millrace accounts create --email ${shellWord(normalizeEmail(named))}`
    : 'See: millrace accounts list'
  return refused('account_not_found', `There is no account ${quoted(named)}. ${cure}`)
}

/** For what nothing can be done with once it is closed. */
export async function resolveOpenAccount(deps: { db: LedgerDb }, named: string): Promise<ResolvedAccount> {
  const resolved = await resolveAccount(deps, named)
  return resolved.kind === 'found' && resolved.account.status === 'closed' ? accountClosed(resolved.account) : resolved
}

export const accountClosed = ({ id }: Pick<StoredAccount, 'id'>): Refused =>
  refused('account_closed', `Account ${id} is closed.`)

export interface AccountView {
  readonly id: string
  readonly email: string
  readonly status: 'active' | 'suspended' | 'closed'
  readonly created_at: string
}

export const accountView = (account: StoredAccount): AccountView => ({
  id: account.id,
  email: account.email,
  status: account.status,
  created_at: isoTime(account.created_at),
})

/** What a wallet holds, and how much of it running requests have put aside. */
export type WalletView = z.output<typeof wallet>

export const walletView = (standing: AccountStanding): WalletView => ({
  balance: formatUsd(standing.balance),
  held: formatUsd(standing.held),
  available: formatUsd(standing.available),
})

/** The ledger is asked, not the table: it is what the next admission decides on. */
export const walletOf = async (ledger: Pick<Ledger, 'standing'>, account: number): Promise<WalletView> =>
  walletView(await ledger.standing(account as AccountRow))
