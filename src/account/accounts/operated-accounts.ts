import type { z } from 'zod'
import type { accountDetail, accountItem, accountsPage, accountsQuery } from '../../contract/operate.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { AccountRow } from '../../model/ids.ts'
import { type CountedAccount, findAccountById, listAccountsLike } from '../../store/accounts.ts'
import { listPeople } from '../../store/people.ts'
import { isoTime } from '../moments.ts'
import { quoted } from '../naming.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { cutPage, readCursor, writeCursor } from '../pages.ts'
import { planOfAccount } from '../plans/plan-of-account.ts'
import { type PlanStandingDeps, planStanding } from '../plans/plan-standing.ts'
import { openWish } from '../wallet/wishes.ts'
import { accountView, walletOf } from './one-account.ts'

export interface OperatedAccountsDeps extends PlanStandingDeps {
  readonly ledger: PlanStandingDeps['ledger'] & Pick<Ledger, 'standing'>
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
  const plan = await planStanding(deps, account.row as AccountRow)
  if (plan.kind === 'refused') return plan
  const members = await listPeople(deps.db, { account: account.row, after: 0, limit: MEMBERS_MAX })
  return done({
    ...(await itemOf(deps, counted!)),
    subscription: plan.value,
    members: members.map(({ id, email, role, created_at, disabled_at }) => ({
      ...{ id, email, role, created_at: isoTime(created_at), disabled: disabled_at !== null },
    })),
    asked: await openWish(deps, account.row as AccountRow),
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
