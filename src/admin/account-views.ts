import type { z } from 'zod'
import type { accountDetail, accountItem, accountsPage, accountsQuery } from '../contract/operate.ts'
import type { overviewAnswer } from '../contract/owner.ts'
import { type CountedAccount, findAccountById, listAccountsLike } from '../db/accounts.ts'
import { countKeys } from '../db/keys.ts'
import { listPeople } from '../db/people.ts'
import type { AccountRow } from '../model/ids.ts'
import { accountView, type OneAccount, resolveAccount, walletOf } from './accounts.ts'
import { suggestModel } from './models.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { planOfAccount, planStatus, subscriptionFacts } from './plans.ts'
import { listRequests } from './requests.ts'
import type { AdminServices } from './services.ts'
import { cutPage, isoTime, quoted, readCursor, writeCursor } from './values.ts'
import { openFundingRequest } from './wallet.ts'

type AccountServices = Pick<AdminServices, 'db' | 'ledger' | 'catalog'>

export async function showAccount(services: AccountServices & Pick<AdminServices, 'clock'>, args: OneAccount) {
  const resolved = await resolveAccount(services, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const { state, plan, until } = subscriptionFacts(await planOfAccount(services, account.row as AccountRow))
  return done({
    ...accountView(account),
    wallet: await walletOf(services.ledger, account.row),
    plan: { state, plan, until },
    /** Without those of the playground. */
    active_keys: (await countKeys(services.db, account.row, services.clock.now())).active,
  })
}

/** Members shown with an account, the oldest first. Their total is shown as well. */
const MEMBERS_MAX = 200

/** All accounts for an operator, newest first. */
export async function operatedAccounts(
  services: AccountServices,
  { after, limit, search }: z.output<typeof accountsQuery>,
): Promise<Outcome<z.output<typeof accountsPage>>> {
  const before = readCursor(after) ?? Number.MAX_SAFE_INTEGER
  if (typeof before !== 'number') return before
  const read = await listAccountsLike(services.db, { before, limit: limit + 1, search })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  return done({ items: await Promise.all(rows.map((row) => itemOf(services, row))), next: writeCursor(next) })
}

/** One account for an operator, by its id. */
export async function operatedAccount(
  services: AccountServices,
  id: string,
): Promise<Outcome<z.output<typeof accountDetail>>> {
  const account = await findAccountById(services.db, id)
  if (account === undefined) return refused('account_not_found', `There is no account ${quoted(id)}.`)
  const [counted] = await listAccountsLike(services.db, { before: account.row + 1, limit: 1, search: undefined })
  const plan = await planStatus(services, account.row as AccountRow)
  if (plan.kind === 'refused') return plan
  const members = await listPeople(services.db, { account: account.row, after: 0, limit: MEMBERS_MAX })
  return done({
    ...(await itemOf(services, counted!)),
    subscription: plan.value,
    members: members.map(({ id, email, role, created_at, disabled_at }) => ({
      ...{ id, email, role, created_at: isoTime(created_at), disabled: disabled_at !== null },
    })),
    asked: await openFundingRequest(services, account.row as AccountRow),
  })
}

async function itemOf(services: AccountServices, account: CountedAccount): Promise<z.output<typeof accountItem>> {
  const { state, newest } = await planOfAccount(services, account.row as AccountRow)
  return {
    ...accountView(account),
    wallet: await walletOf(services.ledger, account.row),
    plan: state === 'ended' ? null : (newest?.plan ?? null),
    keys: account.keys,
    people: account.people,
  }
}

const RECENT_REQUESTS = 10

/** The overview page of an account owner: wallet, plan and recent requests. `usageOverview` has the usage. */
export async function overview(
  services: AccountServices & Pick<AdminServices, 'clock' | 'health'>,
  row: AccountRow,
): Promise<Outcome<z.output<typeof overviewAnswer>>> {
  const requests = await listRequests(services, row, { limit: RECENT_REQUESTS })
  if (requests.kind === 'refused') return requests
  const recent = requests.value.items
  const status = await planStatus(services, row)
  if (status.kind === 'refused') return status
  const { state, plan, windows } = status.value
  return done({
    wallet: await walletOf(services.ledger, row),
    plan: { state, plan, windows },
    recent,
    keys: await countKeys(services.db, row, services.clock.now()),
    suggested_model: recent.length === 0 ? await suggestModel(services, row) : null,
  })
}
