import { operatedAccount, operatedAccounts } from '../../admin/account-views.ts'
import { changeAccountStatus, createAccount, resolveAccount } from '../../admin/accounts.ts'
import {
  type AdminCaller,
  actorOf,
  createAdminKey,
  listAdminKeys,
  revokeAdminKey,
  showOwnAdminKey,
} from '../../admin/admin-keys.ts'
import { applyAccounts } from '../../admin/apply.ts'
import { listAudit } from '../../admin/audit.ts'
import { createCodes, listCodes, withdrawCode } from '../../admin/codes.ts'
import { inviteAtServer } from '../../admin/invitations.ts'
import { type CreatedKey, changeKey, createKey, listKeys, revokeKey, rotateKey, showKey } from '../../admin/keys.ts'
import { done, ifDone, type OperationRefused, type Outcome, refuseOperation } from '../../admin/outcome.ts'
import { disablePerson, enablePerson, findPerson, listPeople } from '../../admin/people.ts'
import { assignPlan, endPlan, listPlans, showPlan } from '../../admin/plans.ts'
import { findAnyRequest, listRequests } from '../../admin/requests.ts'
import type { OwnerServices } from '../../admin/services.ts'
import { exportStatement, walletEntries, walletStatement } from '../../admin/statement.ts'
import { exportUsage, usageReport } from '../../admin/usage-report.ts'
import { adjustWallet, creditWallet, listFundingRequests, refundWallet, showWallet } from '../../admin/wallet.ts'
import type { ADMIN_API, AdminAnswerOf, AdminRouteName } from '../../contract/admin-api.ts'
import { allows } from '../../contract/admin-keys.ts'
import type { ParamsOf } from '../../contract/console-api.ts'
import { findOpenInviteOf } from '../../db/people.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { FileReply, InputOf, ReadOnly } from '../console/handler.ts'

/** The services of the use cases, with the admin key that asks as the actor of the audit log. */
export interface AdminRequest extends OwnerServices {
  readonly caller: AdminCaller
}

type Api = typeof ADMIN_API

type ReplyOf<Name extends AdminRouteName> =
  AdminAnswerOf<Name> extends string ? FileReply | OperationRefused : Outcome<ReadOnly<AdminAnswerOf<Name>>>

type AdminHandler<Name extends AdminRouteName> = (
  request: AdminRequest,
  input: InputOf<Api[Name], ParamsOf<Name>>,
) => Promise<ReplyOf<Name>>

type Handlers = { readonly [Name in AdminRouteName]: AdminHandler<Name> }

/** Without the parts that other scopes guard. */
function listed<Account extends OperatedAccount>({ caller: { scopes } }: AdminRequest, account: Account) {
  return {
    ...account,
    wallet: allows(scopes, 'wallet:read') ? account.wallet : null,
    plan: allows(scopes, 'plans:read') ? account.plan : null,
  }
}

type OperatedAccount = Pick<AdminAnswerOf<'GET /accounts/:account'>, 'wallet' | 'plan'>

const detailOf = (request: AdminRequest, id: string) =>
  ifDone(operatedAccount(request, id), (account) => {
    const { scopes } = request.caller
    return done({
      ...listed(request, account),
      subscription: allows(scopes, 'plans:read') ? account.subscription : null,
      members: allows(scopes, 'people:read') ? account.members : null,
      asked: allows(scopes, 'wallet:read') ? account.asked : null,
    })
  })

const accountHandlers = {
  'GET /key': (request) => showOwnAdminKey(request, request.caller),
  'GET /accounts': (request, { query }) =>
    ifDone(operatedAccounts(request, query), ({ items, next }) =>
      done({ items: items.map((account) => listed(request, account)), next }),
    ),
  'POST /accounts': (request, { body }) => ifDone(createAccount(request, body), ({ id }) => detailOf(request, id)),
  'GET /accounts/:account': (request, { params }) =>
    ifDone(resolveAccount(request, params.account), ({ id }) => detailOf(request, id)),
  'PATCH /accounts/:account': (request, { params, body }) =>
    ifDone(changeAccountStatus(request, params.account, body.status), ({ id }) => detailOf(request, id)),
  'POST /apply': (request, { body }) => applyAccounts(request, body, actorOf(request.caller)),
} satisfies Partial<Handlers>

/** Operators can do everything in the console, so a key that may not is not given one. */
async function refuseOperator(request: AdminRequest, named: string): Promise<OperationRefused | undefined> {
  if (allows(request.caller.scopes, 'admin')) return undefined
  const person = await findPerson(request.db, named)
  return person?.role === 'operator' ? FOR_ADMINS : undefined
}

/** The link of an invited operator is replaced by any other for the same email, so that needs the scope as well. */
async function refuseInvitation(
  request: AdminRequest,
  { role, email, account }: InputOf<Api['POST /people/invitations'], object>['body'],
): Promise<OperationRefused | undefined> {
  if (allows(request.caller.scopes, 'admin')) return undefined
  if (role === 'operator') return FOR_ADMINS
  const resolved = email === undefined && account !== undefined ? await resolveAccount(request, account) : undefined
  const address = email ?? (resolved?.kind === 'done' ? resolved.value.email : undefined)
  if (address === undefined) return undefined
  const open = await findOpenInviteOf(request.db, address, request.clock.now())
  return open?.role === 'operator' ? FOR_ADMINS : refuseOperator(request, address)
}

const FOR_ADMINS = refuseOperation(
  'scope_exceeded',
  'Operators can do everything, so inviting, disabling or enabling one needs an admin key with the scope admin.',
)

const peopleHandlers = {
  'GET /people': (request, { query }) => listPeople(request, query),
  'POST /people/invitations': async (request, { body }) =>
    (await refuseInvitation(request, body)) ??
    ifDone(inviteAtServer(request, body, actorOf(request.caller)), ({ code: _, ...invited }) => done(invited)),
  'POST /people/:person/disable': async (request, { params }) =>
    (await refuseOperator(request, params.person)) ?? disablePerson(request.people, params, actorOf(request.caller)),
  'POST /people/:person/enable': async (request, { params }) =>
    (await refuseOperator(request, params.person)) ?? enablePerson(request.people, params, actorOf(request.caller)),
} satisfies Partial<Handlers>

const withSecret = ({ key: secret, ...key }: CreatedKey) => done({ key, secret })

const keyHandlers = {
  'GET /keys': (request, { query }) => listKeys(request, query),
  'POST /keys': (request, { body }) => ifDone(createKey(request, body), withSecret),
  'GET /keys/:key': (request, { params }) => showKey(request, params),
  'PATCH /keys/:key': (request, { params, body }) => changeKey(request, { ...params, ...body }),
  'POST /keys/:key/rotate': (request, { params, body }) =>
    ifDone(rotateKey(request, { ...params, ...body }), withSecret),
  'POST /keys/:key/revoke': (request, { params }) => revokeKey(request, params),
} satisfies Partial<Handlers>

const ofRow = <Value>(request: AdminRequest, named: string, next: (account: AccountRow) => Promise<Value>) =>
  ifDone(resolveAccount(request, named), ({ row }) => next(row as AccountRow))

const walletHandlers = {
  'GET /accounts/:account/wallet': (request, { params }) => showWallet(request, params),
  'GET /accounts/:account/wallet/entries': (request, { params, query }) =>
    walletEntries(request, { ...params, ...query }),
  'GET /accounts/:account/wallet/statement': (request, { params, query }) =>
    ofRow(request, params.account, (row) => walletStatement(request, row, query)),
  'GET /accounts/:account/wallet/statement.csv': (request, { params, query }) =>
    ofRow(request, params.account, (row) =>
      ifDone(
        exportStatement(request, row, query),
        (pieces): FileReply => ({
          ...{ kind: 'file', name: 'millrace-statement.csv', pieces },
        }),
      ),
    ),
  'POST /accounts/:account/wallet/credit': (request, { params, body }) => creditWallet(request, { ...params, ...body }),
  'POST /accounts/:account/wallet/refund': (request, { params, body }) => refundWallet(request, { ...params, ...body }),
  'POST /accounts/:account/wallet/adjust': (request, { params, body }) => adjustWallet(request, { ...params, ...body }),
  'GET /funding-requests': (request, { query }) => listFundingRequests(request, query),
  'GET /codes': (request, { query }) => listCodes(request, query),
  'POST /codes': (request, { body }) => createCodes(request, body, actorOf(request.caller)),
  'POST /codes/:code/withdraw': (request, { params }) => withdrawCode(request, params),
} satisfies Partial<Handlers>

const planHandlers = {
  'GET /plans': (request) => listPlans(request),
  'GET /accounts/:account/plan': (request, { params }) => showPlan(request, params),
  'PUT /accounts/:account/plan': (request, { params, body }) => assignPlan(request, { ...params, ...body }),
  'POST /accounts/:account/plan/end': (request, { params, body }) => endPlan(request, { ...params, ...body }),
} satisfies Partial<Handlers>

const REQUESTS_AT_ONCE = 200

/** Reads a page while the one before it is sent, so that an export of any length takes the memory of a page. */
async function* requestLines(
  request: AdminRequest,
  account: AccountRow,
  filter: Omit<InputOf<Api['GET /accounts/:account/requests'], object>['query'], 'after' | 'limit'>,
): AsyncGenerator<string> {
  for (let after: string | null | undefined; after !== null; ) {
    const page = await listRequests(request, account, { ...filter, after, limit: REQUESTS_AT_ONCE })
    // The filter was checked before the first line, and the cursor is our own.
    if (page.kind === 'refused') throw new Error(`The export of requests ended early: ${page.message}`)
    if (page.value.items.length > 0) yield page.value.items.map((item) => `${JSON.stringify(item)}\n`).join('')
    after = page.value.next
  }
}

const reportHandlers = {
  'GET /accounts/:account/usage': (request, { params, query }) => usageReport(request, { ...params, ...query }),
  'GET /accounts/:account/usage.csv': (request, { params, query }) =>
    ifDone(
      exportUsage(request, { ...params, ...query }),
      (csv): FileReply => ({
        ...{ kind: 'file', name: 'millrace-usage.csv', pieces: [csv] },
      }),
    ),
  'GET /accounts/:account/requests': (request, { params, query }) =>
    ofRow(request, params.account, (row) => listRequests(request, row, query)),
  'GET /accounts/:account/requests.jsonl': (request, { params, query }) =>
    ofRow(request, params.account, (row) =>
      ifDone(
        listRequests(request, row, { ...query, limit: 1 }),
        (): FileReply => ({
          ...{ kind: 'file', name: 'millrace-requests.jsonl', pieces: requestLines(request, row, query) },
        }),
      ),
    ),
  'GET /requests/:request': (request, { params }) => findAnyRequest(request, params.request),
  'GET /audit': (request, { query }) => listAudit(request, query),
} satisfies Partial<Handlers>

const adminKeyHandlers = {
  'GET /admin-keys': (request, { query }) => listAdminKeys(request, query),
  'POST /admin-keys': (request, { body }) => createAdminKey(request, body, request.caller),
  'POST /admin-keys/:key/revoke': (request, { params }) => revokeAdminKey(request, params, request.caller),
} satisfies Partial<Handlers>

/** One handler for each route of the contract. The compiler reports a missing one. */
export const ADMIN_HANDLERS: Handlers = {
  ...accountHandlers,
  ...peopleHandlers,
  ...keyHandlers,
  ...walletHandlers,
  ...planHandlers,
  ...reportHandlers,
  ...adminKeyHandlers,
}
