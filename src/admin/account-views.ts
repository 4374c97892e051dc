import type { z } from 'zod'
import type { accountDetail, accountItem, accountsPage, accountsQuery } from '../contract/operate.ts'
import { type CountedAccount, findAccountById, listAccountsLike } from '../db/accounts.ts'
import { countKeys } from '../db/keys.ts'
import { listPeople } from '../db/people.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import {
  type AccountView,
  accountView,
  type OneAccount,
  resolveAccount,
  type WalletView,
  walletOf,
} from './accounts.ts'
import { done, type Outcome, refused } from './outcome.ts'
import {
  type PlanOfAccountDeps,
  type PlanStatusDeps,
  planOfAccount,
  planStatus,
  type SubscriptionFacts,
  subscriptionFacts,
} from './plans.ts'
import { cutPage, isoTime, quoted, readCursor, writeCursor } from './values.ts'
import { openFundingRequest } from './wallet.ts'

export interface ShowAccountDeps extends PlanOfAccountDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly ledger: PlanOfAccountDeps['ledger'] & Pick<Ledger, 'standing'>
}

interface AccountSummary extends AccountView {
  readonly wallet: WalletView
  readonly plan: Pick<SubscriptionFacts, 'state' | 'plan' | 'until'>
  /** Those of the playground aside. */
  readonly active_keys: number
}

export async function showAccount(deps: ShowAccountDeps, args: OneAccount): Promise<Outcome<AccountSummary>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const { state, plan, until } = subscriptionFacts(await planOfAccount(deps, account.row as AccountRow))
  const { active } = await countKeys(deps.db, account.row, deps.clock.now())
  return done({
    ...accountView(account),
    wallet: await walletOf(deps.ledger, account.row),
    plan: { state, plan, until },
    active_keys: active,
  })
}

export interface OperatedAccountsDeps extends PlanStatusDeps {
  readonly ledger: PlanStatusDeps['ledger'] & Pick<Ledger, 'standing'>
}

/** Shown with an account, the oldest first; how many there are stands beside them. */
const MEMBERS_MAX = 200

type AccountItem = z.output<typeof accountItem>
type AccountDetail = z.output<typeof accountDetail>

/** All accounts, newest first, as whoever operates the server looks for one. */
export async function operatedAccounts(
  deps: OperatedAccountsDeps,
  { after, limit, search }: z.output<typeof accountsQuery>,
): Promise<Outcome<z.output<typeof accountsPage>>> {
  const before = readCursor(after) ?? Number.MAX_SAFE_INTEGER
  if (typeof before !== 'number') return before
  const read = await listAccountsLike(deps.db, { before, limit: limit + 1, search })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  return done({ items: await Promise.all(rows.map((row) => itemOf(deps, row))), next: writeCursor(next) })
}

/** Everything about one of them, by its id. */
export async function operatedAccount(deps: OperatedAccountsDeps, id: string): Promise<Outcome<AccountDetail>> {
  const account = await findAccountById(deps.db, id)
  if (account === undefined) return refused('account_not_found', `There is no account ${quoted(id)}.`)
  const [counted] = await listAccountsLike(deps.db, { before: account.row + 1, limit: 1, search: undefined })
  const plan = await planStatus(deps, account.row as AccountRow)
  if (plan.kind === 'refused') return plan
  const members = await listPeople(deps.db, { account: account.row, after: 0, limit: MEMBERS_MAX })
  return done({
    ...(await itemOf(deps, counted!)),
    subscription: plan.value,
    members: members.map(({ id, email, role, created_at, disabled_at }) => ({
      ...{ id, email, role, created_at: isoTime(created_at), disabled: disabled_at !== null },
    })),
    asked: await openFundingRequest(deps, account.row as AccountRow),
  })
}

async function itemOf(deps: OperatedAccountsDeps, account: CountedAccount): Promise<AccountItem> {
  const { state, newest } = await planOfAccount(deps, account.row as AccountRow)
  return {
    ...accountView(account),
    wallet: await walletOf(deps.ledger, account.row),
    plan: state === 'ended' ? null : (newest?.plan ?? null),
    keys: account.keys,
    people: account.people,
  }
}
