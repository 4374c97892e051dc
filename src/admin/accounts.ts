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
import { isAlreadyThere } from '../db/sql-store.ts'
import type { AccountStatusReport, Ledger } from '../ledger/ledger.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { type AccountRow, mintAccountId } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { done, ifDone, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import type { AdminServices, DbService } from './services.ts'
import { isoTime, normalizeEmail, quoted } from './values.ts'

/** The id or email of an account. */
export interface OneAccount {
  readonly account: string
}

/** One account, or all of them. */
export type AnyAccount = { readonly [Name in keyof OneAccount]?: string | undefined }

/** Finds an account by its id or email. */
export async function resolveAccount({ db }: DbService, named: string): Promise<Outcome<StoredAccount>> {
  const isEmail = named.includes('@')
  const account = isEmail
    ? await findAccountByEmail(db, normalizeEmail(named))
    : await findAccountById(db, named.trim())
  if (account !== undefined) return done(account)
  const cure = isEmail
    ? `To create it: millrace accounts create --email ${shellWord(normalizeEmail(named))}`
    : 'See: millrace accounts list'
  return refuseOperation('account_not_found', `There is no account ${quoted(named)}. ${cure}`)
}

/** Refuses a closed account as well. */
export const resolveOpenAccount = (services: DbService, named: string) =>
  ifDone(resolveAccount(services, named), (account) =>
    account.status === 'closed' ? accountClosed(account) : done(account),
  )

export const accountClosed = ({ id }: Pick<StoredAccount, 'id'>): OperationRefused =>
  refuseOperation('account_closed', `Account ${id} is closed.`)

export type AccountView = ReturnType<typeof accountView>

export const accountView = ({ id, email, status, created_at }: StoredAccount) => ({
  ...{ id, email, status, created_at: isoTime(created_at) },
})

export type WalletView = z.output<typeof wallet>

export const walletView = ({ balance, held, available }: AccountStatusReport): WalletView => ({
  ...{ balance: formatUsd(balance), held: formatUsd(held), available: formatUsd(available) },
})

/** From the ledger, not the table: the next admission decides on it. */
export const walletOf = async (ledger: Pick<Ledger, 'accountStatus'>, account: number): Promise<WalletView> =>
  walletView(await ledger.accountStatus(account as AccountRow))

/** Creates an account and its empty wallet in one transaction. */
export async function createAccount(
  { db, auditLog, clock, random }: AdminServices,
  { email }: z.output<typeof createAccountBody>,
): Promise<Outcome<AccountView>> {
  const order = { id: mintAccountId(random), email, createdAt: clock.now() }
  let isNew = false
  try {
    // Without `account`: the row has no number yet, so only operators see the entry.
    const entry = { action: 'account_created', target: order.id, detail: email } as const
    isNew = await auditLog.act(entry, accountInserts(order))
  } catch (error) {
    if (!isAlreadyThere(error) || !error.message.includes('accounts.email')) throw error
  }
  const account = await findAccountByEmail(db, email)
  if (account === undefined) throw new Error(`The account of ${email} is missing after it was created`)
  if (isNew) return done(accountView(account))
  return refuseOperation('account_exists', `${email} already has an account: ${account.id}`, { param: 'email' })
}

/** Affects every key of the account at once. Running requests finish. */
export async function changeAccountStatus(
  { db, auditLog, forgetAccount }: AdminServices,
  named: string,
  status: 'active' | 'suspended',
): Promise<Outcome<AccountView>> {
  const resolved = await resolveAccount({ db }, named)
  if (resolved.kind === 'refused') return resolved
  const { value: account } = resolved
  const entry = { action: 'account_status', target: account.id, account: account.row, detail: status } as const
  const changed = await auditLog
    .act(entry, [accountStatusUpdate(account.row, status)])
    .finally(() => forgetAccount(account.row as AccountRow))
  if (!changed) return refuseOperation('account_closed', `Account ${account.id} is closed, which is final.`)
  return done(accountView({ ...account, status }))
}
