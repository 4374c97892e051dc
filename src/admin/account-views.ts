import type { z } from 'zod'
import type { accountsQuery } from '../contract/operate.ts'
import { type CountedAccount, findAccountById, listAccountsLike } from '../db/accounts.ts'
import { countKeys } from '../db/keys.ts'
import { listPeople } from '../db/people.ts'
import type { AccountRow } from '../model/ids.ts'
import { accountView, type OneAccount, resolveAccount, walletOf } from './accounts.ts'
import { capsOf } from './caps.ts'
import type { KeyScope } from './keys.ts'
import { suggestModel } from './models.ts'
import { done, ifDone, refuseOperation } from './outcome.ts'
import { planOfAccount, planStatus, subscriptionFacts } from './plans.ts'
import { listRequests } from './requests.ts'
import type { AdminServices } from './services.ts'
import { isoTime, NEWEST, quoted, readPage } from './values.ts'
import { openFundingRequest } from './wallet.ts'

export const showAccount = (services: AdminServices, args: OneAccount) =>
  ifDone(resolveAccount(services, args.account), async (account) => {
    const { state, plan, until } = subscriptionFacts(await planOfAccount(services, account.row as AccountRow))
    return done({
      ...accountView(account),
      wallet: await walletOf(services.ledger, account.row),
      plan: { state, plan, until },
      /** Without those of the playground. */
      active_keys: (await countKeys(services.db, { account: account.row }, services.clock.now())).active,
    })
  })

/** Members shown with an account, the oldest first. Their total is shown as well. */
const MEMBERS_MAX = 200

/** All accounts for an operator, newest first. */
export const operatedAccounts = (services: AdminServices, { search, ...page }: z.output<typeof accountsQuery>) =>
  readPage(page, {
    first: NEWEST,
    read: (before, limit) => listAccountsLike(services.db, { before, limit, search }),
    numberOf: ({ row }) => row,
    view: (row) => itemOf(services, row),
  })

/** One account for an operator, by its id. */
export async function operatedAccount(services: AdminServices, id: string) {
  const account = await findAccountById(services.db, id)
  if (account === undefined) return refuseOperation('account_not_found', `There is no account ${quoted(id)}.`)
  const [counted] = await listAccountsLike(services.db, { before: account.row + 1, limit: 1, search: undefined })
  const members = await listPeople(services.db, { account: account.row, after: 0, limit: MEMBERS_MAX })
  return done({
    ...(await itemOf(services, counted!)),
    subscription: await planStatus(services, account.row as AccountRow),
    members: members.map(({ id, email, role, created_at, disabled_at }) => ({
      ...{ id, email, role, created_at: isoTime(created_at), disabled: disabled_at !== null },
    })),
    asked: await openFundingRequest(services, account.row as AccountRow),
  })
}

async function itemOf(services: AdminServices, account: CountedAccount) {
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

/**
 * The overview page: wallet, plan and recent requests. `usageOverview` has the usage. A member sees their own keys and requests,
 * and not what the account has. `own` is the row of the person.
 */
export async function overview(services: AdminServices, scope: KeyScope, own: number) {
  const { account: row, person } = scope
  const requests = await listRequests(services, scope, { limit: RECENT_REQUESTS })
  if (requests.kind === 'refused') return requests
  const recent = requests.value.items
  const status = person === undefined ? await planStatus(services, row) : undefined
  return done({
    wallet: person === undefined ? await walletOf(services.ledger, row) : null,
    plan: status === undefined ? null : { state: status.state, plan: status.plan, windows: status.windows },
    recent,
    keys: await countKeys(services.db, scope, services.clock.now()),
    own_caps: (await capsOf(services, row, { holder: 'person', row: own })).spent,
    suggested_model: recent.length === 0 ? await suggestModel(services, row) : null,
  })
}
