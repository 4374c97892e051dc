import type { z } from 'zod'
import type { createAccountBody } from '../contract/operate.ts'
import type { wallet } from '../contract/owner.ts'
import {
  accountInserts,
  accountStatusUpdate,
  findAccountByEmail,
  findAccountById,
  type StoredAccount,
} from '../db/accounts.ts'
import { isAlreadyThere } from '../db/sqlite/failure.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { AccountStatusReport, Ledger } from '../ledger/ledger.ts'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { type AccountRow, mintAccountId } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import type { ActorLog } from './audit.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { isoTime, normalizeEmail, quoted } from './values.ts'

/** What every operation on one account is asked with: its id or its e-mail. */
export interface OneAccount {
  readonly account: string
}

/** Of one account, or of all. */
export type AnyAccount = { readonly [Name in keyof OneAccount]?: string | undefined }

type ResolvedAccount = { readonly kind: 'found'; readonly account: StoredAccount } | Refused

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

export const walletView = (standing: AccountStatusReport): WalletView => ({
  balance: formatUsd(standing.balance),
  held: formatUsd(standing.held),
  available: formatUsd(standing.available),
})

/** The ledger is asked, not the table: it is what the next admission decides on. */
export const walletOf = async (ledger: Pick<Ledger, 'standing'>, account: number): Promise<WalletView> =>
  walletView(await ledger.standing(account as AccountRow))

export interface CreateAccountDeps {
  readonly db: LedgerDb
  readonly auditLog: ActorLog
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
async function insert({ auditLog }: CreateAccountDeps, order: Parameters<typeof accountInserts>[0]): Promise<boolean> {
  try {
    return await auditLog.act(
      { action: 'account_created', target: order.id, detail: order.email },
      accountInserts(order),
    )
  } catch (error) {
    if (isAlreadyThere(error) && error.message.includes('accounts.email')) return false
    throw error
  }
}

export interface ChangeAccountDeps {
  readonly db: LedgerDb
  readonly auditLog: ActorLog
  /** Drops the keys of an account from the running server's cache, so that the next request reads them anew. */
  readonly forgetAccount: (account: AccountRow) => void
}

/** Every key of the account at once; requests that are running finish, because they were allowed when they came. */
export async function changeAccountStatus(
  deps: ChangeAccountDeps,
  named: string,
  status: 'active' | 'suspended',
): Promise<Outcome<AccountView>> {
  const resolved = await resolveAccount(deps, named)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const act = { action: 'account_status', target: account.id, account: account.row, detail: status } as const
  const changed = await deps.auditLog
    .act(act, [accountStatusUpdate(account.row, status)])
    .finally(() => deps.forgetAccount(account.row as AccountRow))
  if (!changed) return refused('account_closed', `Account ${account.id} is closed, and that is final.`)
  return done(accountView({ ...account, status }))
}
