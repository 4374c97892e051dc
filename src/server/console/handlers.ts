import { operatedAccount, operatedAccounts, overview } from '../../admin/account-views.ts'
import { changeAccountStatus, createAccount, resolveAccount } from '../../admin/accounts.ts'
import { exportAllRequests, listAllRequests } from '../../admin/all-requests.ts'
import { exportAudit, listAudit, listWholeAudit } from '../../admin/audit.ts'
import { changeMemberCaps, changeNewKeyCaps, raiseMemberCap, showNewKeyCaps } from '../../admin/caps.ts'
import { createCodes, listCodes, redeemCode, withdrawCode } from '../../admin/codes.ts'
import { findModels, testProvider } from '../../admin/find-models.ts'
import { invitePerson, readInvite, signUp } from '../../admin/invitations.ts'
import { invoice, invoiceCsv } from '../../admin/invoice.ts'
import {
  type CreatedKey,
  changeKey,
  createKey,
  listOwnKeys,
  raiseKeyCap,
  revokeKey,
  rotateKey,
  showOwnKey,
} from '../../admin/keys.ts'
import { changeManaged, listManagedEntries, managedVersions } from '../../admin/managed.ts'
import { exportManaged } from '../../admin/managed-yaml.ts'
import {
  changeMember,
  inviteMember,
  listMembers,
  removeMember,
  showCappedMember,
  withManaged,
} from '../../admin/members.ts'
import { offeredModels, operatedModels } from '../../admin/models.ts'
import { done, ifDone, type Outcome, refuseOperation } from '../../admin/outcome.ts'
import {
  challengeToConfirm,
  challengeToRegister,
  challengeToSignIn,
  confirmByPasskey,
  registerPasskey,
  removePasskey,
  renamePasskey,
  signInByPasskey,
} from '../../admin/passkeys.ts'
import {
  buyPlan,
  cardStatus,
  changeAutomaticTopUp,
  changeRenewal,
  listOwnPayments,
  listPayments,
  listPlansSold,
  removeCard,
  showPayment,
  startTopUp,
} from '../../admin/payments.ts'
import { disablePerson, enablePerson, signedInView } from '../../admin/people.ts'
import { assignPlan, endPlan, listPlans, planStatus } from '../../admin/plans.ts'
import { listConversations, removeConversation, saveConversation, showConversation } from '../../admin/playground.ts'
import { previewPrice } from '../../admin/price-preview.ts'
import { findAnyRequest, listRequests, showRequest, windowRows } from '../../admin/requests.ts'
import { listOwnRuns, showRun } from '../../admin/runs.ts'
import {
  beginTotp,
  changeFactorRule,
  confirmTotp,
  removeFactors,
  removeTotp,
  renewRecoveryCodes,
  viewFactorRule,
  viewFactors,
} from '../../admin/second-factors.ts'
import { laneCallsReport, modelMeasures, servedReport } from '../../admin/served-report.ts'
import { statusOfAll } from '../../admin/server-status.ts'
import { type Client, endSession, listSessions, type SignedIn, signOut } from '../../admin/sessions.ts'
import { changePassword, confirmPassword, giveFactor, signIn } from '../../admin/sign-in.ts'
import { exportStatement, walletStatement } from '../../admin/statement.ts'
import { changeTeam, createTeam, listTeams, raiseTeamCap, showTeam } from '../../admin/teams.ts'
import { exportUsage, refusedTurnsReport, usageOverview, usageReport } from '../../admin/usage-report.ts'
import { isoTime } from '../../admin/values.ts'
import { adjustWallet, creditWallet, listFundingRequests, requestFunding, walletBalance } from '../../admin/wallet.ts'
import type { AnswerOf } from '../../contract/console-api.ts'
import { findPersonByRow, hasPeople } from '../../db/people.ts'
import type { AccountRow } from '../../model/ids.ts'
import { type FileReply, managedFile } from '../route-replies.ts'
import {
  type AccountRequest,
  type ConsoleRequest,
  type ConsoleServices,
  type Handlers,
  type Reply,
  type SignedInRequest,
  withActor,
} from './handler.ts'
import { noticeHandlers, webhookHandlers } from './notice-handlers.ts'
import { CONFIRMED_MS, csrfTokenOf } from './session.ts'

/** One handler for each route of the contract. The compiler reports a missing one. */
export const createHandlers = (services: ConsoleServices): Handlers => ({
  ...sessionHandlers(services),
  ...factorHandlers(services),
  ...keyHandlers(services),
  ...walletHandlers(services),
  ...conversationHandlers(services),
  ...cardHandlers(services),
  ...usageHandlers(services),
  ...memberHandlers(services),
  ...teamHandlers(services),
  ...accountHandlers(services),
  ...operatorHandlers(services),
  ...reportHandlers(services),
  ...noticeHandlers(services),
  ...webhookHandlers(services),
})

type SessionView = AnswerOf<'GET /session'>

/** Sign-in, sign-up, the own password, sessions and audit log. */
const sessionHandlers = (services: ConsoleServices) => {
  const { people } = services
  return {
    'GET /session': async (request) => done(await sessionView(services, request, request.signedIn)),
    'POST /session': async (request, { body }) =>
      startSession(services, request, await signIn(people, body, clientOf(request))),
    'DELETE /session': async (request) => {
      await signOut(people, request.session)
      const value = await sessionView(services, request, undefined)
      return { kind: 'session', secret: undefined, deviceTokens: undefined, value }
    },
    async 'POST /session/confirm'(request, { body }) {
      const outcome = await confirmPassword(people, request.session, body, clientOf(request))
      return outcome.kind === 'refused' ? outcome : viewAgain(services, request)
    },
    'POST /session/factor': (request, { body }) =>
      ifDone(giveFactor(people, request.session, body), () => viewAgain(services, request)),
    'POST /invitation': (_request, { body }) => readInvite(people, body.code),
    'POST /sign-up': async (request, { body }) =>
      startSession(services, request, await signUp(people, body, clientOf(request))),
    'PUT /password': async (request, { body }) =>
      startSession(services, request, await changePassword(people, request.session, body, clientOf(request))),
    'GET /sessions': (request) => listSessions(people, request.session),
    'DELETE /sessions/:session': (request, { params }) =>
      ifDone(endSession(people, request.session, params.session), () => done({})),
    'GET /audit': (request, { query }) => listAudit(services, { account: request.account.row, ...query }),
  } satisfies Partial<Handlers>
}

/** Passkeys and authenticator apps of the person who asks. */
const factorHandlers = (services: ConsoleServices) => {
  const { people } = services
  return {
    'POST /session/challenge': async ({ site }) => challengeToSignIn(people, site),
    'POST /session/passkey': async (request, { body }) =>
      startSession(services, request, await signInByPasskey(people, request.site, body, clientOf(request))),
    'POST /session/confirm/challenge': ({ session, site }) => challengeToConfirm(people, session, site),
    'POST /session/confirm/passkey': (request, { body }) =>
      ifDone(confirmByPasskey(people, request.session, request.site, body), () => viewAgain(services, request)),
    'GET /factors': async ({ session }) => done(await viewFactors(people, session.person.row)),
    'POST /factors/totp': ({ session }) => beginTotp(people, session),
    'POST /factors/totp/confirm': ({ session }, { body }) => confirmTotp(people, session, body.code),
    'POST /factors/totp/remove': ({ session }) => removeTotp(people, session),
    'POST /factors/recovery-codes': ({ session }) => renewRecoveryCodes(people, session),
    'POST /passkeys/challenge': ({ session, site }) => challengeToRegister(people, session, site),
    'POST /passkeys': ({ session, site }, { body }) => registerPasskey(people, session, site, body),
    'PATCH /passkeys/:passkey': ({ session }, { params, body }) =>
      renamePasskey(people, session, params.passkey, body.name),
    'POST /passkeys/:passkey/remove': ({ session }, { params }) => removePasskey(people, session, params.passkey),
  } satisfies Partial<Handlers>
}

/** The session as it is after a confirmation. */
async function viewAgain(services: ConsoleServices, request: SignedInRequest) {
  const { secret } = request.signedIn
  const session = await services.people.sessions.find(secret)
  return done(await sessionView(services, request, session && { secret, session }))
}

const clientOf = ({ agent, address, deviceTokens }: ConsoleRequest): Client => ({ agent, address, deviceTokens })

async function startSession(
  services: ConsoleServices,
  request: ConsoleRequest,
  outcome: Outcome<SignedIn> | { readonly kind: 'password-chosen' },
): Promise<Reply<SessionView>> {
  if (outcome.kind === 'refused') return outcome
  if (outcome.kind === 'password-chosen') return done(await sessionView(services, request, undefined))
  const { value: signedIn } = outcome
  const person = await findPersonByRow(services.db, signedIn.session.person.row)
  const deviceTokens = person && services.people.devices.remember(request.deviceTokens, person)
  return {
    kind: 'session',
    secret: signedIn.secret,
    deviceTokens,
    value: await sessionView(services, request, signedIn),
  }
}

/** What a page needs before it shows anything. */
async function sessionView(
  services: ConsoleServices,
  { site }: ConsoleRequest,
  signedIn: SignedIn | undefined,
): Promise<SessionView> {
  return {
    person: signedIn === undefined ? null : signedInView(signedIn.session),
    csrf: signedIn === undefined ? null : csrfTokenOf(signedIn.secret),
    confirmed_until: signedIn === undefined ? null : isoTime(signedIn.session.confirmedAt + CONFIRMED_MS),
    second_factor: signedIn === undefined ? null : signedIn.session.secondFactor,
    factors: signedIn === undefined ? null : signedIn.session.factors,
    setup_needed: signedIn === undefined && !(await hasPeople(services.db)),
    sign_on: services.signOn.listProviders(),
    confirm_by: signedIn === undefined ? null : await services.signOn.confirmersOf(signedIn.session),
    version: services.version,
    base_url: services.baseUrl(site.origin),
    currency: 'USD',
  }
}

/** The operator's accounts and people. A credit counts once by its reference, as on the command line. */
const accountHandlers = (services: ConsoleServices) =>
  ({
    'GET /operate/accounts': (_request, { query }) => operatedAccounts(services, query),
    'GET /operate/accounts/:account': (_request, { params }) => operatedAccount(services, params.account),
    'POST /operate/accounts': (request, { body }) =>
      ifDone(createAccount(withActor(request, services), body), ({ id }) => operatedAccount(services, id)),
    async 'POST /operate/accounts/:account/credit'(request, { params: { account }, body: { amount, ...why } }) {
      // A negative amount corrects a mistake, and never takes more than the wallet has.
      const moved = amount.startsWith('-')
        ? await adjustWallet(withActor(request, services), {
            ...{ account, amount: amount.slice(1), direction: 'take', ...why },
          })
        : await creditWallet(withActor(request, services), { account, amount, ...why })
      if (moved.kind === 'refused') return moved
      const { repeated, balance, held, available } = moved.value
      return done({ wallet: { balance, held, available }, counted: !repeated })
    },
    'POST /operate/accounts/:account/status': (request, { params: { account }, body: { status } }) =>
      ifDone(changeAccountStatus(withActor(request, services), account, status), ({ id }) =>
        operatedAccount(services, id),
      ),
    'POST /operate/accounts/:account/plan'(request, { params: { account }, body: { plan } }) {
      const audited = withActor(request, services)
      const changed = plan === null ? endPlan(audited, { account }) : assignPlan(audited, { account, plan })
      return ifDone(changed, ({ account: id }) => operatedAccount(services, id))
    },
    'POST /operate/accounts/:account/invite': (request, { params, body }) =>
      ifDone(
        invitePerson(peopleHere(request, services), { ...params, ...body }, request.session.person.email),
        invitedView,
      ),
    'POST /operate/people/:person/disable': (request, { params }) =>
      ifDone(disablePerson(services, params, request.session.person.email), () => done({})),
    'POST /operate/people/:person/enable': (request, { params }) =>
      ifDone(enablePerson(services, params, request.session.person.email), () => done({})),
    'POST /operate/people/:person/remove-factors': (request, { params }) =>
      ifDone(removeFactors(services, params, request.session.person.email), () => done({})),
  }) satisfies Partial<Handlers>

/** The keys of an account, or a member's own. All others are answered like keys that do not exist. */
const keyHandlers = (services: ConsoleServices) =>
  ({
    'GET /keys': (request, { query }) => listOwnKeys(services, request.scope, query),
    'GET /keys/:key': (request, { params }) => showOwnKey(services, request.scope, params.key),
    async 'POST /keys'(request, { body }) {
      // A member would spend the budget of another team, or under the cap of another person.
      if (request.scope.person !== undefined && (body.person !== undefined || body.team !== undefined))
        return refuseOperation('role_too_low', 'Only owners and admins choose the person and the team of a key.')
      const order = { account: request.account.id, ...body }
      const made = createKey(withActor(request, services), order, { maker: request.session.person.row })
      return ifDone(made, (created) => showSecret(services, request, created))
    },
    'PATCH /keys/:key'(request, { params: { key }, body }) {
      const changed = changeKey(withActor(request, services), { key, ...body }, rightsOf(request))
      return ifDone(changed, () => showOwnKey(services, request.scope, key))
    },
    'POST /keys/:key/rotate'(request, { params: { key }, body }) {
      const rotated = rotateKey(withActor(request, services), { key, ...body }, request.scope)
      return ifDone(rotated, (created) => showSecret(services, request, created))
    },
    'POST /keys/:key/revoke'(request, { params: { key } }) {
      const revoked = revokeKey(withActor(request, services), { key }, rightsOf(request))
      return ifDone(revoked, () => showOwnKey(services, request.scope, key))
    },
  }) satisfies Partial<Handlers>

const rightsOf = ({ scope, isConfirmed }: AccountRequest) => ({ of: scope, mayWiden: isConfirmed })

const showSecret = (services: ConsoleServices, { scope }: AccountRequest, { id, key: secret }: CreatedKey) =>
  ifDone(showOwnKey(services, scope, id), (key) => done({ key, secret }))

/** Whose usage a person sees: that of the account, or of their own keys. */
const usageOf = ({ account, scope }: AccountRequest) => ({ account: account.id, person: scope.person })

/** What an account has used and may use. Read only. */
const usageHandlers = (services: ConsoleServices) =>
  ({
    'GET /overview': (request) => overview(services, request.scope, request.session.person.row),
    'GET /overview/usage': (request, { query }) => usageOverview(services, { ...usageOf(request), ...query }),
    'GET /invoice': (request, { query }) => invoice(services, { account: request.account.id, ...query }),
    'GET /invoice.csv': (request, { query }) => invoiceFile(services, { account: request.account.id, ...query }),
    'GET /plan': async (request) => done(await planStatus(services, request.account.row)),
    'GET /plan/windows/:window': (request, { params, query }) =>
      windowRows(services, request.account.row, params.window, query),
    'GET /usage': (request, { query }) => usageReport(services, { ...usageOf(request), ...query }),
    'GET /usage.csv': (request, { query }) =>
      ifDone(exportUsage(services, { ...usageOf(request), ...query }), (csv) => ({
        ...{ kind: 'file', name: 'millrace-usage.csv', pieces: [csv] },
      })),
    'GET /usage/refused': (request, { query }) => refusedTurnsReport(services, { ...usageOf(request), ...query }),
    'GET /requests': (request, { query }) => listRequests(services, request.scope, query),
    'GET /requests/:request': (request, { params }) => showRequest(services, request.scope, params.request),
    'GET /runs': (request, { query }) => listOwnRuns(services, request.scope, query),
    'GET /runs/:run': (request, { params }) => showRun(services, request.scope, params.run),
    async 'GET /models'(request) {
      const dayOf = await modelMeasures(services)
      const models = await offeredModels(services, request.account.row)
      return done({ items: models.map((model) => ({ ...model, day: dayOf(model.id) })) })
    },
  }) satisfies Partial<Handlers>

/** Each person reads only their own. */
const conversationHandlers = (services: ConsoleServices) => {
  const ownerOf = ({ account, session }: AccountRequest) => ({ account: account.id, person: session.person.id })
  const { conversations } = services
  return {
    'GET /conversations': async (request) => done(await listConversations(conversations, ownerOf(request))),
    'GET /conversations/:conversation': (request, { params }) =>
      showConversation(conversations, ownerOf(request), params.conversation),
    'POST /conversations': (request, { body }) => saveConversation(services, ownerOf(request), body),
    'PUT /conversations/:conversation': (request, { params, body }) =>
      saveConversation(services, ownerOf(request), { id: params.conversation, ...body }),
    'DELETE /conversations/:conversation': (request, { params }) =>
      removeConversation(conversations, ownerOf(request), params.conversation),
  } satisfies Partial<Handlers>
}

/** An owner's wallet: balance, statement, redemption and funding requests. */
const walletHandlers = (services: ConsoleServices) =>
  ({
    'GET /wallet': async (request) => done(await walletBalance(services, request.account.row)),
    'GET /wallet/statement': (request, { query }) => walletStatement(services, request.account.row, query),
    'GET /wallet/statement.csv': (request, { query }) =>
      ifDone(exportStatement(services, request.account.row, query), (pieces) => ({
        ...{ kind: 'file', name: 'millrace-statement.csv', pieces },
      })),
    'POST /wallet/redeem': (request, { body }) => redeemCode(withActor(request, services), request.account.row, body),
    'POST /wallet/ask': (request, { body }) =>
      ifDone(requestFunding(withActor(request, services), request.account.row, body), async () =>
        done(await walletBalance(services, request.account.row)),
      ),
  }) satisfies Partial<Handlers>

/** What an owner pays by card. */
const cardHandlers = (services: ConsoleServices) =>
  ({
    'GET /card': (request) => cardStatus(services, request.account.row),
    'POST /card/top-up': (request, { body }) =>
      startTopUp(withActor(request, services), request.account.row, body, request.site),
    'PUT /card/automatic': (request, { body }) =>
      changeAutomaticTopUp(withActor(request, services), request.account.row, body),
    'DELETE /card': (request) => removeCard(withActor(request, services), request.account.row),
    'GET /payments': (request, { query }) => listOwnPayments(services, request.account.row, query),
    'GET /payments/:payment': (request, { params }) => showPayment(services, request.account.row, params.payment),
    'GET /plans/sold': (request) => listPlansSold(services, request.account.row),
    'POST /plans/buy': (request, { body }) =>
      buyPlan(withActor(request, services), request.account.row, body, request.site),
    'PUT /plans/:purchase/renewal': (request, { params, body }) =>
      changeRenewal(withActor(request, services), request.account.row, { ...params, ...body }),
  }) satisfies Partial<Handlers>

/** The people of an account. */
const memberHandlers = (services: ConsoleServices) =>
  ({
    'GET /second-factor': async ({ account }) => done(await viewFactorRule(services, account.row)),
    'PUT /second-factor': (request, { body }) => changeFactorRule(services, managerOf(request), body.required),
    'GET /members': (request, { query }) => listMembers(services, request.account.row, query),
    'POST /members/invite': (request, { body }) =>
      ifDone(
        inviteMember({ ...services, people: peopleHere(request, services) }, managerOf(request), body),
        invitedView,
      ),
    'PATCH /members/:person': (request, { params, body }) =>
      changeMember(services, managerOf(request), { ...params, ...body }),
    'POST /members/:person/remove': (request, { params }) => removeMember(services, managerOf(request), params),
  }) satisfies Partial<Handlers>

/** The origin that the inviting person uses is the likeliest to work for the invited one, in the link and in a mail. */
const peopleHere = ({ site }: ConsoleRequest, { people }: ConsoleServices): ConsoleServices['people'] => ({
  ...people,
  consoleUrl: () => `${site.origin}/console`,
})

interface Invited {
  readonly link: string
  readonly expires_at: string
  readonly mailed: boolean
}

const invitedView = ({ link, expires_at, mailed }: Invited) => done({ link, expires_at, mailed })

/** The operator's view of the whole server, and redemption codes. */
const operatorHandlers = (services: ConsoleServices) =>
  ({
    'GET /operate/codes': (_request, { query }) => listCodes(services, query),
    'POST /operate/codes': (request, { body }) =>
      createCodes(withActor(request, services), body, request.session.person.email),
    'POST /operate/codes/:code/withdraw': (request, { params }) => withdrawCode(withActor(request, services), params),
    'GET /operate/plans': () => listPlans(services),
    'GET /operate/lanes': async () => done({ items: operatedModels(services) }),
    'GET /operate/managed': () => listManagedEntries(services),
    'POST /operate/managed': (request, { body }) =>
      changeManaged(withActor(request, services), body, request.session.person.email),
    'GET /operate/managed/history': (_request, { query }) => managedVersions(services, query),
    'GET /operate/managed.yaml': () => ifDone(exportManaged(services), managedFile),
    'POST /operate/managed/preview': (_request, { body }) => previewPrice(services, body),
    'POST /operate/managed/models': (_request, { body }) => findModels(services, body),
    'POST /operate/managed/test': (_request, { body }) => testProvider(services, body),
    'GET /operate/wishes': (_request, { query }) => listFundingRequests(services, query),
    'GET /operate/payments': (_request, { query: { owed, ...page } }) =>
      listPayments(services, { ...page, owed: owed === 'true' }),
    'GET /operate/requests/:request': (_request, { params }) => findAnyRequest(services, params.request),
    async 'GET /operate/system'() {
      const status = await statusOfAll(services)
      if (!status.running) return refuseOperation('unknown_operation', 'No server runs here.')
      const { version, node, driver, data, config, started_at, ledger_available } = status
      const { requests_running, requests_served, console_requests } = status
      return done({
        ...{ version, node, driver, data, config, started_at, ledger_available },
        ...{ requests_running, requests_served, console_requests },
      })
    },
  }) satisfies Partial<Handlers>

const file = (name: string, pieces: FileReply['pieces']): FileReply => ({ kind: 'file', name, pieces })

const invoiceFile = (services: ConsoleServices, args: Parameters<typeof invoice>[1]) =>
  ifDone(invoice(services, args), (made) => file(`millrace-invoice-${made.first_day}.csv`, [invoiceCsv(made)]))

/** What operators see of all accounts, and of one. Read only. */
const reportHandlers = (services: ConsoleServices) => {
  const ofAccount = <Value>(named: string, next: (account: AccountRow) => Promise<Value>) =>
    ifDone(resolveAccount(services, named), ({ row }) => next(row as AccountRow))
  return {
    'GET /operate/overview': (_request, { query }) => servedReport(services, query),
    'GET /operate/lanes/calls': () => laneCallsReport(services),
    'GET /operate/requests': (_request, { query }) => listAllRequests(services, query),
    'GET /operate/requests.csv': (_request, { query }) =>
      ifDone(exportAllRequests(services, query), (pieces) => file('millrace-requests.csv', pieces)),
    'GET /operate/audit': (_request, { query }) => listWholeAudit(services, query),
    'GET /operate/audit.csv': (_request, { query }) =>
      ifDone(exportAudit(services, query), (pieces) => file('millrace-audit.csv', pieces)),
    'GET /operate/accounts/:account/keys': (_request, { params, query }) =>
      ofAccount(params.account, (account) => listOwnKeys(services, { account }, query)),
    'GET /operate/accounts/:account/usage': (_request, { params, query }) =>
      usageReport(services, { ...query, account: params.account }),
    'GET /operate/accounts/:account/usage.csv': (_request, { params, query }) =>
      ifDone(exportUsage(services, { ...query, account: params.account }), (csv) => file('millrace-usage.csv', [csv])),
    'GET /operate/accounts/:account/statement': (_request, { params, query }) =>
      ofAccount(params.account, (account) => walletStatement(services, account, query)),
    'GET /operate/accounts/:account/statement.csv': (_request, { params, query }) =>
      ofAccount(params.account, (account) =>
        ifDone(exportStatement(services, account, query), (pieces) => file('millrace-statement.csv', pieces)),
      ),
    'GET /operate/accounts/:account/invoice': (_request, { params, query }) =>
      invoice(services, { ...query, account: params.account }),
    'GET /operate/accounts/:account/invoice.csv': (_request, { params, query }) =>
      invoiceFile(services, { ...query, account: params.account }),
  } satisfies Partial<Handlers>
}

/** Teams of an account, and the caps of teams, people and new keys. Ids of other accounts are answered like ids that do not exist. */
const teamHandlers = (services: ConsoleServices) =>
  ({
    'GET /teams': ({ account }, { query }) => listTeams(services, { account: account.id, ...query }),
    'POST /teams': (request, { body }) =>
      createTeam(withActor(request, services), { account: request.account.id, ...body }),
    'GET /teams/:team': ({ account }, { params }) => showTeam(services, params, account.row),
    'PATCH /teams/:team': (request, { params, body }) =>
      changeTeam(
        withActor(request, services),
        { ...body, ...params },
        { of: request.account.row, mayWiden: request.isConfirmed },
      ),
    'POST /teams/:team/raise': (request, { params, body }) =>
      ifDone(raiseTeamCap(withActor(request, services), { ...body, ...params }, request.account.row), () =>
        showTeam(services, params, request.account.row),
      ),
    'GET /new-key-caps': ({ account }) => showNewKeyCaps(services, { account: account.id }),
    'PATCH /new-key-caps': (request, { body }) =>
      changeNewKeyCaps(
        withActor(request, services),
        { account: request.account.id, ...body },
        { mayWiden: request.isConfirmed },
      ),
    'GET /members/:person': ({ account }, { params }) => showCappedMember(services, account.row, params),
    'PATCH /members/:person/caps': (request, { params, body }) =>
      withManaged(services, managerOf(request), params.person, () =>
        ifDone(
          changeMemberCaps(withActor(request, services), { ...body, ...params }, { mayWiden: request.isConfirmed }),
          () => showCappedMember(services, request.account.row, params),
        ),
      ),
    'POST /members/:person/raise': (request, { params, body }) =>
      withManaged(services, managerOf(request), params.person, () =>
        ifDone(raiseMemberCap(withActor(request, services), { ...body, ...params }), () =>
          showCappedMember(services, request.account.row, params),
        ),
      ),
    'POST /keys/:key/raise': (request, { params, body }) =>
      ifDone(raiseKeyCap(withActor(request, services), { ...body, ...params }, request.scope), () =>
        showOwnKey(services, request.scope, params.key),
      ),
  }) satisfies Partial<Handlers>

const managerOf = ({ account, role, session }: AccountRequest) => ({ account, role, person: session.person })
