import { operatedAccount, operatedAccounts, overview } from '../../admin/account-views.ts'
import { changeAccountStatus, createAccount } from '../../admin/accounts.ts'
import { listAudit } from '../../admin/audit.ts'
import { createCodes, listCodes, redeemCode, withdrawCode } from '../../admin/codes.ts'
import { invitePerson, readInvite, signUp } from '../../admin/invitations.ts'
import {
  type CreatedKey,
  changeKey,
  createKey,
  listOwnKeys,
  revokeKey,
  rotateKey,
  showOwnKey,
} from '../../admin/keys.ts'
import { offeredModels, operatedModels } from '../../admin/models.ts'
import { done, ifDone, type Outcome, refuseOperation } from '../../admin/outcome.ts'
import { disablePerson, enablePerson, signedInView } from '../../admin/people.ts'
import { assignPlan, endPlan, listPlans, planStatus } from '../../admin/plans.ts'
import { findAnyRequest, listRequests, showRequest, windowRows } from '../../admin/requests.ts'
import { statusOfAll } from '../../admin/server-status.ts'
import { type Client, endSession, listSessions, type SignedIn, signOut } from '../../admin/sessions.ts'
import { changePassword, confirmPassword, signIn } from '../../admin/sign-in.ts'
import { exportStatement, walletStatement } from '../../admin/statement.ts'
import { exportUsage, refusedTurnsReport, usageOverview, usageReport } from '../../admin/usage-report.ts'
import { isoTime } from '../../admin/values.ts'
import { adjustWallet, creditWallet, listFundingRequests, requestFunding, walletBalance } from '../../admin/wallet.ts'
import type { AnswerOf } from '../../contract/console-api.ts'
import { findPersonByRow, hasPeople } from '../../db/people.ts'
import {
  type ConsoleRequest,
  type ConsoleServices,
  type Handlers,
  type OwnerRequest,
  type Reply,
  withActor,
} from './handler.ts'
import { CONFIRMED_MS, csrfTokenOf } from './session.ts'

/** One handler for each route of the contract. The compiler reports a missing one. */
export const createHandlers = (services: ConsoleServices): Handlers => ({
  ...sessionHandlers(services),
  ...keyHandlers(services),
  ...walletHandlers(services),
  ...usageHandlers(services),
  ...accountHandlers(services),
  ...operatorHandlers(services),
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
      const outcome = await confirmPassword(people, request.session, body.password, clientOf(request))
      if (outcome.kind === 'refused') return outcome
      const { secret } = request.signedIn
      const session = await people.sessions.find(secret)
      return done(await sessionView(services, request, session && { secret, session }))
    },
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

const clientOf = ({ agent, address, deviceTokens }: ConsoleRequest): Client => ({ agent, address, deviceTokens })

async function startSession(
  services: ConsoleServices,
  request: ConsoleRequest,
  outcome: Outcome<SignedIn>,
): Promise<Reply<SessionView>> {
  if (outcome.kind === 'refused') return outcome
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
    setup_needed: signedIn === undefined && !(await hasPeople(services.db)),
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
    async 'POST /operate/accounts/:account/invite'(request, { params, body }) {
      const invited = await invitePerson(services.people, { ...params, ...body }, request.session.person.email)
      if (invited.kind === 'refused') return invited
      // The origin that this operator uses is the likeliest to work for the invited person.
      const link = `${request.site.origin}/console/setup?code=${invited.value.code}`
      return done({ link, expires_at: invited.value.expires_at })
    },
    'POST /operate/people/:person/disable': (request, { params }) =>
      ifDone(disablePerson(services.people, params, request.session.person.email), () => done({})),
    'POST /operate/people/:person/enable': (request, { params }) =>
      ifDone(enablePerson(services.people, params, request.session.person.email), () => done({})),
  }) satisfies Partial<Handlers>

/** An owner's keys. A key of another account is answered like one that does not exist. */
const keyHandlers = (services: ConsoleServices) =>
  ({
    'GET /keys': (request, { query }) => listOwnKeys(services, request.account.row, query),
    'GET /keys/:key': (request, { params }) => showOwnKey(services, request.account.row, params.key),
    'POST /keys'(request, { body }) {
      const made = createKey(withActor(request, services), { account: request.account.id, ...body })
      return ifDone(made, (created) => showSecret(services, request, created))
    },
    'PATCH /keys/:key'(request, { params: { key }, body }) {
      const changed = changeKey(withActor(request, services), { key, ...body }, asOwner(request))
      return ifDone(changed, () => showOwnKey(services, request.account.row, key))
    },
    'POST /keys/:key/rotate'(request, { params: { key }, body }) {
      const rotated = rotateKey(withActor(request, services), { key, ...body }, request.account.row)
      return ifDone(rotated, (created) => showSecret(services, request, created))
    },
    'POST /keys/:key/revoke'(request, { params: { key } }) {
      const revoked = revokeKey(withActor(request, services), { key }, asOwner(request))
      return ifDone(revoked, () => showOwnKey(services, request.account.row, key))
    },
  }) satisfies Partial<Handlers>

const asOwner = ({ account, isConfirmed }: OwnerRequest) => ({ of: account.row, mayWiden: isConfirmed })

const showSecret = (services: ConsoleServices, { account }: OwnerRequest, { id, key: secret }: CreatedKey) =>
  ifDone(showOwnKey(services, account.row, id), (key) => done({ key, secret }))

/** What an account has used and may use. Read only. */
const usageHandlers = (services: ConsoleServices) =>
  ({
    'GET /overview': (request) => overview(services, request.account.row),
    'GET /overview/usage': (request, { query }) => usageOverview(services, { account: request.account.id, ...query }),
    'GET /plan': async (request) => done(await planStatus(services, request.account.row)),
    'GET /plan/windows/:window': (request, { params, query }) =>
      windowRows(services, request.account.row, params.window, query),
    'GET /usage': (request, { query }) => usageReport(services, { account: request.account.id, ...query }),
    'GET /usage.csv': (request, { query }) =>
      ifDone(exportUsage(services, { account: request.account.id, ...query }), (csv) => ({
        ...{ kind: 'file', name: 'millrace-usage.csv', pieces: [csv] },
      })),
    'GET /usage/refused': (request, { query }) =>
      refusedTurnsReport(services, { account: request.account.id, ...query }),
    'GET /requests': (request, { query }) => listRequests(services, request.account.row, query),
    'GET /requests/:request': (request, { params }) => showRequest(services, request.account.row, params.request),
    'GET /models': async (request) => done({ items: await offeredModels(services, request.account.row) }),
  }) satisfies Partial<Handlers>

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

/** The operator's view of the whole server, and redemption codes. */
const operatorHandlers = (services: ConsoleServices) =>
  ({
    'GET /operate/codes': (_request, { query }) => listCodes(services, query),
    'POST /operate/codes': (request, { body }) =>
      createCodes(withActor(request, services), body, request.session.person.email),
    'POST /operate/codes/:code/withdraw': (request, { params }) => withdrawCode(withActor(request, services), params),
    'GET /operate/plans': () => listPlans(services),
    'GET /operate/lanes': async () => done({ items: operatedModels(services) }),
    'GET /operate/wishes': (_request, { query }) => listFundingRequests(services, query),
    'GET /operate/requests/:request': (_request, { params }) => findAnyRequest(services, params.request),
    'GET /operate/audit': (_request, { query }) => listAudit(services, query),
    async 'GET /operate/system'() {
      const status = await statusOfAll(services)
      if (!status.running) return refuseOperation('unknown_operation', 'No server runs here.')
      const { version, node, driver, data, config, started_at, ledger_available } = status
      const { requests_running, requests_served } = status
      return done({
        ...{ version, node, driver, data, config, started_at, ledger_available },
        ...{ requests_running, requests_served },
      })
    },
  }) satisfies Partial<Handlers>
