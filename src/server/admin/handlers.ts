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
import { exportAllRequests, listAllRequests } from '../../admin/all-requests.ts'
import { applyAccounts } from '../../admin/apply.ts'
import { exportAudit, listWholeAudit } from '../../admin/audit.ts'
import { changeMemberCaps, changeNewKeyCaps, raiseMemberCap, showMember, showNewKeyCaps } from '../../admin/caps.ts'
import { createCodes, listCodes, withdrawCode } from '../../admin/codes.ts'
import { findModels, testProvider } from '../../admin/find-models.ts'
import { inviteAtServer } from '../../admin/invitations.ts'
import { invoice, invoiceCsv } from '../../admin/invoice.ts'
import {
  type CreatedKey,
  changeKey,
  createKey,
  listKeys,
  raiseKeyCap,
  revokeKey,
  rotateKey,
  showKey,
} from '../../admin/keys.ts'
import { changeManaged, listManagedEntries, managedVersions } from '../../admin/managed.ts'
import { exportManaged } from '../../admin/managed-yaml.ts'
import { changeNoticeSettings, listNoticesOf, showNoticeSettings } from '../../admin/notices.ts'
import { done, ifDone, type OperationRefused, type Outcome, refuseOperation } from '../../admin/outcome.ts'
import { listOwnPayments, listPayments } from '../../admin/payments.ts'
import { disablePerson, enablePerson, findPerson, listPeople } from '../../admin/people.ts'
import { assignPlan, endPlan, listPlans, showPlan } from '../../admin/plans.ts'
import { previewPrice } from '../../admin/price-preview.ts'
import { reconcilePayments } from '../../admin/reconcile-payments.ts'
import { findAnyRequest, listRequests } from '../../admin/requests.ts'
import { removeFactors } from '../../admin/second-factors.ts'
import { laneCallsReport, servedReport } from '../../admin/served-report.ts'
import type { OwnerServices } from '../../admin/services.ts'
import { exportStatement, walletEntries, walletStatement } from '../../admin/statement.ts'
import { changeTeam, createTeam, listTeams, raiseTeamCap, showTeam } from '../../admin/teams.ts'
import { exportUsage, usageReport } from '../../admin/usage-report.ts'
import { adjustWallet, creditWallet, listFundingRequests, refundWallet, showWallet } from '../../admin/wallet.ts'
import {
  addWebhook,
  changeWebhook,
  listWebhookDeliveries,
  listWebhooks,
  removeWebhook,
  resendDelivery,
  resolveOwner,
  rotateWebhook,
  testWebhook,
} from '../../admin/webhooks.ts'
import type { ADMIN_API, AdminAnswerOf, AdminRouteName } from '../../contract/admin-api.ts'
import { allows } from '../../contract/admin-keys.ts'
import type { ParamsOf } from '../../contract/values.ts'
import { listOpenInvitesOf } from '../../db/people.ts'
import type { AccountRow } from '../../model/ids.ts'
import { type FileReply, type InputOf, managedFile, type ReadOnly } from '../route-replies.ts'

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
  const open = await listOpenInvitesOf(request.db, address, request.clock.now())
  return open.some((invite) => invite.role === 'operator') ? FOR_ADMINS : refuseOperator(request, address)
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
  'GET /people/:person': (request, { params }) => showMember(request, params),
  'PATCH /people/:person/caps': (request, { params, body }) => changeMemberCaps(request, { ...params, ...body }),
  'POST /people/:person/raise': (request, { params, body }) => raiseMemberCap(request, { ...params, ...body }),
  'POST /people/:person/disable': async (request, { params }) =>
    (await refuseOperator(request, params.person)) ?? disablePerson(request, params, actorOf(request.caller)),
  'POST /people/:person/remove-factors': async (request, { params }) =>
    (await refuseOperator(request, params.person)) ?? removeFactors(request, params, actorOf(request.caller)),
  'POST /people/:person/enable': async (request, { params }) =>
    (await refuseOperator(request, params.person)) ?? enablePerson(request, params, actorOf(request.caller)),
} satisfies Partial<Handlers>

const withSecret = ({ key: secret, ...key }: CreatedKey) => done({ key, secret })

const keyHandlers = {
  'GET /accounts/:account/teams': (request, { params, query }) => listTeams(request, { ...params, ...query }),
  'POST /accounts/:account/teams': (request, { params, body }) => createTeam(request, { ...params, ...body }),
  'GET /teams/:team': (request, { params }) => showTeam(request, params),
  'PATCH /teams/:team': (request, { params, body }) => changeTeam(request, { ...params, ...body }),
  'POST /teams/:team/raise': (request, { params, body }) => raiseTeamCap(request, { ...params, ...body }),
  'GET /accounts/:account/new-key-caps': (request, { params }) => showNewKeyCaps(request, params),
  'PATCH /accounts/:account/new-key-caps': (request, { params, body }) =>
    changeNewKeyCaps(request, { ...params, ...body }),
  'GET /keys': (request, { query }) => listKeys(request, query),
  'POST /keys': (request, { body }) => ifDone(createKey(request, body), withSecret),
  'GET /keys/:key': (request, { params }) => showKey(request, params),
  'PATCH /keys/:key': (request, { params, body }) => changeKey(request, { ...params, ...body }),
  'POST /keys/:key/raise': (request, { params, body }) => raiseKeyCap(request, { ...params, ...body }),
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
  'GET /accounts/:account/payments': (request, { params, query }) =>
    ofRow(request, params.account, (row) => listOwnPayments(request, row, query)),
  'GET /payments': (request, { query: { owed, ...page } }) => listPayments(request, { ...page, owed: owed === 'true' }),
  'POST /payments/reconcile': (request, { body }) => reconcilePayments(request, body),
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
    const page = await listRequests(request, { account }, { ...filter, after, limit: REQUESTS_AT_ONCE })
    // The filter was checked before the first line, and the cursor is our own.
    if (page.kind === 'refused') throw new Error(`The export of requests ended early: ${page.message}`)
    if (page.value.items.length > 0) yield page.value.items.map((item) => `${JSON.stringify(item)}\n`).join('')
    after = page.value.next
  }
}

const csvFile = (name: string, pieces: FileReply['pieces']): FileReply => ({ kind: 'file', name, pieces })

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
    ofRow(request, params.account, (row) => listRequests(request, { account: row }, query)),
  'GET /accounts/:account/requests.jsonl': (request, { params, query }) =>
    ofRow(request, params.account, (row) =>
      ifDone(
        listRequests(request, { account: row }, { ...query, limit: 1 }),
        (): FileReply => ({
          ...{ kind: 'file', name: 'millrace-requests.jsonl', pieces: requestLines(request, row, query) },
        }),
      ),
    ),
  'GET /requests/:request': (request, { params }) => findAnyRequest(request, params.request),
  'GET /audit': (request, { query }) => listWholeAudit(request, query),
  'GET /audit.csv': (request, { query }) =>
    ifDone(exportAudit(request, query), (pieces) => csvFile('millrace-audit.csv', pieces)),
  'GET /accounts/:account/invoice': (request, { params, query }) => invoice(request, { ...params, ...query }),
  'GET /accounts/:account/invoice.csv': (request, { params, query }) =>
    ifDone(invoice(request, { ...params, ...query }), (made) =>
      csvFile(`millrace-invoice-${made.first_day}.csv`, [invoiceCsv(made)]),
    ),
  'GET /served': (request, { query }) => servedReport(request, query),
  'GET /lanes/calls': (request) => laneCallsReport(request),
  'GET /requests': (request, { query }) => listAllRequests(request, query),
  'GET /requests.csv': (request, { query }) =>
    ifDone(exportAllRequests(request, query), (pieces) => csvFile('millrace-requests.csv', pieces)),
} satisfies Partial<Handlers>

const managedHandlers = {
  'GET /managed': (request) => listManagedEntries(request),
  'POST /managed': (request, { body }) => changeManaged(request, body, actorOf(request.caller)),
  'GET /managed/history': (request, { query }) => managedVersions(request, query),
  'GET /managed.yaml': (request) => ifDone(exportManaged(request), managedFile),
  'POST /managed/preview': (request, { body }) => previewPrice(request, body),
  'POST /managed/models': (request, { body }) => findModels(request, body),
  'POST /managed/test': (request, { body }) => testProvider(request, body),
} satisfies Partial<Handlers>

const adminKeyHandlers = {
  'GET /admin-keys': (request, { query }) => listAdminKeys(request, query),
  'POST /admin-keys': (request, { body }) => createAdminKey(request, body, request.caller),
  'POST /admin-keys/:key/revoke': (request, { params }) => revokeAdminKey(request, params, request.caller),
} satisfies Partial<Handlers>

const noticeHandlers = {
  'GET /notices': (request, { query }) => listNoticesOf(request, query),
  'GET /accounts/:account/notice-settings': (request, { params }) => showNoticeSettings(request, params),
  'PATCH /accounts/:account/notice-settings': (request, { params, body }) =>
    changeNoticeSettings(request, { ...params, ...body }),
  'GET /webhooks': (request, { query }) =>
    ifDone(resolveOwner(request, query), (account) => listWebhooks(request, account)),
  'POST /webhooks': (request, { body: { account: named, ...body } }) =>
    ifDone(resolveOwner(request, { ...(named !== undefined && { account: named }) }, 'open'), (account) =>
      addWebhook(request, account, body, actorOf(request.caller)),
    ),
  'PATCH /webhooks/:webhook': (request, { params, body }) => changeWebhook(request, 'all', { ...params, ...body }),
  'POST /webhooks/:webhook/rotate': (request, { params }) => rotateWebhook(request, 'all', params),
  'POST /webhooks/:webhook/remove': (request, { params }) => removeWebhook(request, 'all', params),
  'POST /webhooks/:webhook/test': (request, { params }) => testWebhook(request, 'all', params),
  'GET /webhooks/:webhook/deliveries': (request, { params, query }) =>
    listWebhookDeliveries(request, 'all', { ...params, ...query }),
  'POST /webhooks/:webhook/deliveries/:delivery/resend': (request, { params }) =>
    resendDelivery(request, 'all', params),
} satisfies Partial<Handlers>

/** One handler for each route of the contract. The compiler reports a missing one. */
export const ADMIN_HANDLERS: Handlers = {
  ...accountHandlers,
  ...peopleHandlers,
  ...keyHandlers,
  ...walletHandlers,
  ...planHandlers,
  ...reportHandlers,
  ...managedHandlers,
  ...adminKeyHandlers,
  ...noticeHandlers,
}
