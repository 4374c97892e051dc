import { z } from 'zod'
import * as caps from './caps.ts'
import * as teams from './caps.ts'
import * as managed from './managed.ts'
import * as notices from './notices.ts'
import * as operate from './operate.ts'
import * as reports from './operator-reports.ts'
import * as owner from './owner.ts'
import * as payments from './payments.ts'
import * as people from './people.ts'
import { count, money, moneyOrNull, nothing, pageOf, pageQuery, type Requester, type Route, time } from './values.ts'

const bounds = { cost: moneyOrNull, requests: count.nullable(), tokens: count.nullable() }

const runFacts = {
  id: z.string(),
  state: z.enum(['open', 'ended']),
  opened_at: time,
  ends_at: time,
  /** Null where it has no bound. */
  budget: z.strictObject(bounds),
}

/** Less what running requests hold. Null where it has no bound; in a list also two days after its end. */
const remaining = z.strictObject(bounds)

const runItem = z.strictObject({ ...runFacts, parent: z.string().nullable(), remaining })

const runsPage = pageOf(runItem)

/** Of ended requests, with those of the runs inside. */
const used = z.strictObject({ cost: money, requests: count, tokens: count })

const runFields = { ...runFacts, used }
const ownFields = z.strictObject(runFields)

/** A run inside another, with those inside it. */
interface RunNode extends z.output<typeof ownFields> {
  readonly runs: readonly RunNode[]
}

const runNode: z.ZodType<RunNode> = z.strictObject({
  ...runFields,
  runs: z.lazy(() => z.array(runNode)),
})

const runDetail = z.strictObject({
  ...runFields,
  runs: z.array(runNode),
  parent: z.string().nullable(),
  remaining,
  /** Whether all runs inside are listed. `used` counts them anyway. */
  all_listed: z.boolean(),
})

const NO_ANSWER = z.strictObject({})
/** A file, which has no schema. */
const FILE = z.string()

const query = <Who extends Requester, Query extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  querySchema: Query,
  answer: Answer,
): Route<Who, Query, typeof nothing, Answer> => ({ who, confirmed: false, query: querySchema, body: nothing, answer })

const mutation = <Who extends Requester, Body extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  body: Body,
  answer: Answer,
): Route<Who, typeof nothing, Body, Answer> => ({ who, confirmed: false, query: nothing, body, answer })

/** Creates keys or moves money, which needs a recently confirmed password. */
const confirmedMutation = <Who extends Requester, Body extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  body: Body,
  answer: Answer,
) => ({
  ...mutation(who, body, answer),
  confirmed: true,
})

/** Also for a person who has not given the second factor that they need. */
const withoutFactor = <Given>(route: Given) => ({ ...route, withoutFactor: 'allowed' as const })
const enrols = <Given>(route: Given) => ({ ...route, withoutFactor: 'enrols' as const })

/**
 * The routes of the console API. The server serves only this table, the console's fetcher is typed by it, and a test checks
 * that each route is refused to everyone but `who`.
 */
export const CONSOLE_API = {
  'GET /session': query('anyone', nothing, people.sessionStatus),
  'POST /session': mutation('anyone', people.signIn, people.sessionStatus),
  'DELETE /session': withoutFactor(mutation('signed-in', nothing, people.sessionStatus)),
  'POST /session/challenge': mutation('anyone', nothing, people.passkeyChallenge),
  'POST /session/passkey': mutation('anyone', people.passkeyAnswer, people.sessionStatus),
  'POST /session/factor': withoutFactor(mutation('signed-in', people.giveFactor, people.sessionStatus)),
  'POST /session/confirm': withoutFactor(mutation('signed-in', people.confirm, people.sessionStatus)),
  'POST /session/confirm/challenge': withoutFactor(mutation('signed-in', nothing, people.passkeyChallenge)),
  'POST /session/confirm/passkey': withoutFactor(mutation('signed-in', people.passkeyAnswer, people.sessionStatus)),
  'POST /invitation': mutation('anyone', people.requestInvitation, people.invitation),
  'POST /sign-up': mutation('anyone', people.signUp, people.sessionStatus),
  'PUT /password': mutation('signed-in', people.changePassword, people.sessionStatus),
  'GET /sessions': query('signed-in', nothing, z.strictObject({ items: z.array(people.sessionItem) })),
  'DELETE /sessions/:session': mutation('signed-in', nothing, NO_ANSWER),
  'GET /factors': withoutFactor(query('signed-in', nothing, people.factors)),
  'POST /factors/totp': enrols(confirmedMutation('signed-in', nothing, people.totpSecret)),
  'POST /factors/totp/confirm': enrols(confirmedMutation('signed-in', people.confirmTotp, people.factorAdded)),
  'POST /factors/totp/remove': confirmedMutation('signed-in', nothing, people.factors),
  'POST /factors/recovery-codes': confirmedMutation('signed-in', nothing, people.recoveryCodes),
  'POST /passkeys/challenge': enrols(confirmedMutation('signed-in', nothing, people.newPasskeyChallenge)),
  'POST /passkeys': enrols(confirmedMutation('signed-in', people.registerPasskey, people.factorAdded)),
  'PATCH /passkeys/:passkey': mutation('signed-in', people.renamePasskey, people.factors),
  'POST /passkeys/:passkey/remove': confirmedMutation('signed-in', nothing, people.factors),
  'GET /audit': query('viewer', people.auditQuery, pageOf(people.auditItem)),

  'GET /overview': query('any-role', nothing, owner.overviewAnswer),
  'GET /overview/usage': query('any-role', owner.latelyUsedQuery, owner.latelyUsed),
  'GET /keys': query('any-role', owner.keysQuery, pageOf(owner.listedKey)),
  'POST /keys': confirmedMutation('member', owner.createKeyBody, owner.madeKey),
  'GET /keys/:key': query('any-role', nothing, owner.keyItem),
  'PATCH /keys/:key': { ...mutation('member', owner.changeKeyBody, owner.keyItem), confirmed: 'to-widen' },
  'POST /keys/:key/rotate': confirmedMutation('member', owner.rotateKeyBody, owner.madeKey),
  'POST /keys/:key/revoke': { ...mutation('member', nothing, owner.keyItem), confirmed: 'to-widen' },
  'POST /keys/:key/raise': confirmedMutation('admin', caps.raiseBody, owner.keyItem),
  'GET /new-key-caps': query('viewer', nothing, caps.newKeyCaps),
  'PATCH /new-key-caps': { ...mutation('admin', caps.caps, caps.newKeyCaps), confirmed: 'to-widen' },
  'GET /teams': query('viewer', pageQuery, pageOf(teams.teamItem)),
  'POST /teams': mutation('admin', teams.createTeamBody, teams.teamItem),
  'GET /teams/:team': query('viewer', nothing, teams.teamItem),
  'PATCH /teams/:team': { ...mutation('admin', teams.changeTeamBody, teams.teamItem), confirmed: 'to-widen' },
  'POST /teams/:team/raise': confirmedMutation('admin', caps.raiseBody, teams.teamItem),
  'GET /wallet': query('viewer', nothing, owner.walletAnswer),
  'GET /wallet/statement': query('viewer', owner.statementQuery, pageOf(owner.movement)),
  'GET /wallet/statement.csv': query('viewer', owner.statementExportQuery, FILE),
  'POST /wallet/redeem': confirmedMutation('owner', owner.redeemBody, owner.redeemed),
  'POST /wallet/ask': mutation('owner', owner.requestFundingBody, owner.walletAnswer),
  'GET /card': query('viewer', nothing, payments.cardStatus),
  'POST /card/top-up': confirmedMutation('owner', payments.topUpBody, payments.startedPayment),
  'PUT /card/automatic': confirmedMutation('owner', payments.automaticTopUpBody, payments.cardStatus),
  'DELETE /card': mutation('owner', nothing, payments.cardStatus),
  'GET /payments': query('viewer', pageQuery, pageOf(payments.paymentItem)),
  'GET /payments/:payment': query('viewer', nothing, payments.paymentItem),
  'GET /plans/sold': query('viewer', nothing, payments.plansSold),
  'POST /plans/buy': confirmedMutation('owner', payments.buyPlanBody, payments.startedPayment),
  'PUT /plans/:purchase/renewal': confirmedMutation('owner', payments.renewalBody, payments.plansSold),
  'GET /invoice': query('viewer', reports.invoiceQuery, reports.invoiceAnswer),
  'GET /invoice.csv': query('viewer', reports.invoiceQuery, FILE),
  'GET /plan': query('viewer', nothing, owner.planAnswer),
  'GET /plan/windows/:window': query('viewer', pageQuery, owner.windowRows),
  'GET /usage': query('any-role', owner.usageQuery, owner.usageAnswer),
  'GET /usage.csv': query('any-role', owner.usageQuery, FILE),
  'GET /usage/refused': query('any-role', owner.refusedTurnsQuery, owner.refusedTurnsAnswer),
  'GET /requests': query('any-role', owner.requestsQuery, owner.requestsPage),
  'GET /requests/:request': query('any-role', nothing, owner.requestDetail),
  'GET /runs': query('any-role', pageQuery, runsPage),
  'GET /runs/:run': query('any-role', nothing, runDetail),
  'GET /second-factor': query('admin', nothing, people.factorRule),
  'PUT /second-factor': confirmedMutation('admin', people.changeFactorRule, people.factorRule),
  'GET /members': query('viewer', pageQuery, pageOf(people.member)),
  'POST /members/invite': confirmedMutation('admin', people.inviteMemberBody, operate.invited),
  'PATCH /members/:person': confirmedMutation('admin', people.changeMemberBody, people.member),
  'POST /members/:person/remove': confirmedMutation('admin', nothing, people.member),
  'GET /members/:person': query('viewer', nothing, people.cappedMember),
  'PATCH /members/:person/caps': { ...mutation('admin', caps.caps, people.cappedMember), confirmed: 'to-widen' },
  'POST /members/:person/raise': confirmedMutation('admin', caps.raiseBody, people.cappedMember),
  'GET /models': query('any-role', nothing, owner.modelsAnswer),
  'GET /conversations': query('member', nothing, owner.conversationItems),
  'POST /conversations': mutation('member', owner.saveConversationBody, owner.savedConversation),
  'GET /conversations/:conversation': query('member', nothing, owner.conversation),
  'PUT /conversations/:conversation': mutation('member', owner.saveConversationBody, owner.savedConversation),
  'DELETE /conversations/:conversation': mutation('member', nothing, NO_ANSWER),
  'GET /notices': query('signed-in', notices.noticesQuery, pageOf(notices.readableNotice)),
  'GET /notices/unread': query('signed-in', nothing, notices.unreadNotices),
  'POST /notices/read': mutation('signed-in', notices.readNoticesBody, notices.unreadNotices),
  'GET /notices/preferences': query('signed-in', nothing, notices.noticePreferences),
  'PATCH /notices/preferences': mutation('signed-in', notices.changePreferencesBody, notices.noticePreferences),
  'GET /notices/settings': query('viewer', nothing, notices.noticeSettings),
  'PUT /notices/settings': mutation('owner', notices.changeSettingsBody, notices.noticeSettings),
  'GET /webhooks': query('admin', nothing, notices.webhookItems),
  'POST /webhooks': confirmedMutation('owner', notices.addWebhookBody, notices.madeWebhook),
  'PATCH /webhooks/:webhook': mutation('owner', notices.changeWebhookBody, notices.webhookItem),
  'POST /webhooks/:webhook/rotate': confirmedMutation('owner', nothing, notices.madeWebhook),
  'DELETE /webhooks/:webhook': mutation('owner', nothing, NO_ANSWER),
  'POST /webhooks/:webhook/test': mutation('owner', nothing, notices.deliveryItem),
  'GET /webhooks/:webhook/deliveries': query('admin', pageQuery, pageOf(notices.deliveryItem)),
  'POST /webhooks/:webhook/deliveries/:delivery/resend': mutation('owner', nothing, notices.deliveryItem),

  'GET /operate/overview': query('operator', reports.servedQuery, reports.servedAnswer),
  'GET /operate/lanes/calls': query('operator', nothing, reports.laneCallsAnswer),
  'GET /operate/requests': query('operator', reports.allRequestsQuery, reports.allRequestsPage),
  'GET /operate/requests.csv': query('operator', reports.allRequestsExportQuery, FILE),
  'GET /operate/audit.csv': query('operator', people.auditExportQuery, FILE),
  'GET /operate/accounts/:account/keys': query('operator', owner.keysQuery, pageOf(owner.listedKey)),
  'GET /operate/accounts/:account/usage': query('operator', owner.usageQuery, owner.usageAnswer),
  'GET /operate/accounts/:account/usage.csv': query('operator', owner.usageQuery, FILE),
  'GET /operate/accounts/:account/statement': query('operator', owner.statementQuery, pageOf(owner.movement)),
  'GET /operate/accounts/:account/statement.csv': query('operator', owner.statementExportQuery, FILE),
  'GET /operate/accounts/:account/invoice': query('operator', reports.invoiceQuery, reports.invoiceAnswer),
  'GET /operate/accounts/:account/invoice.csv': query('operator', reports.invoiceQuery, FILE),
  'GET /operate/accounts': query('operator', operate.accountsQuery, operate.accountsPage),
  'POST /operate/accounts': mutation('operator', operate.createAccountBody, operate.accountDetail),
  'GET /operate/accounts/:account': query('operator', nothing, operate.accountDetail),
  'POST /operate/accounts/:account/credit': confirmedMutation('operator', operate.creditBody, operate.credited),
  'POST /operate/accounts/:account/status': mutation('operator', operate.statusBody, operate.accountDetail),
  'POST /operate/accounts/:account/plan': confirmedMutation('operator', operate.assignPlanBody, operate.accountDetail),
  'POST /operate/accounts/:account/invite': confirmedMutation('operator', operate.inviteBody, operate.invited),
  'POST /operate/people/:person/disable': confirmedMutation('operator', nothing, NO_ANSWER),
  'POST /operate/people/:person/enable': confirmedMutation('operator', nothing, NO_ANSWER),
  'POST /operate/people/:person/remove-factors': confirmedMutation('operator', nothing, NO_ANSWER),
  'GET /operate/codes': query('operator', pageQuery, operate.codesPage),
  'POST /operate/codes': confirmedMutation('operator', operate.createCodesBody, operate.madeCodes),
  'POST /operate/codes/:code/withdraw': mutation('operator', nothing, operate.codeItem),
  'GET /operate/plans': query('operator', nothing, z.strictObject({ items: z.array(operate.planItem) })),
  'GET /operate/lanes': query('operator', nothing, z.strictObject({ items: z.array(operate.operatorModel) })),
  'GET /operate/managed': query('operator', nothing, managed.managedAnswer),
  'POST /operate/managed': confirmedMutation('operator', managed.managedChange, managed.managedAnswer),
  'GET /operate/managed/history': query('operator', managed.historyQuery, managed.managedHistory),
  'GET /operate/managed.yaml': query('operator', nothing, FILE),
  'POST /operate/managed/preview': mutation('operator', managed.previewBody, managed.pricePreview),
  'POST /operate/managed/models': mutation('operator', managed.providerBody, managed.foundModels),
  'POST /operate/managed/test': mutation('operator', managed.testBody, managed.testedModel),
  'GET /operate/wishes': query('operator', pageQuery, pageOf(operate.accountFundingRequest)),
  'GET /operate/payments': query('operator', payments.paymentsQuery, pageOf(payments.accountPayment)),
  'GET /operate/requests/:request': query('operator', nothing, operate.foundRequest),
  'GET /operate/audit': query('operator', people.operatorAuditQuery, pageOf(people.auditItem)),
  'GET /operate/webhooks': query('operator', nothing, notices.webhookItems),
  'POST /operate/webhooks': confirmedMutation('operator', notices.addWebhookBody, notices.madeWebhook),
  'PATCH /operate/webhooks/:webhook': mutation('operator', notices.changeWebhookBody, notices.webhookItem),
  'POST /operate/webhooks/:webhook/rotate': confirmedMutation('operator', nothing, notices.madeWebhook),
  'DELETE /operate/webhooks/:webhook': mutation('operator', nothing, NO_ANSWER),
  'POST /operate/webhooks/:webhook/test': mutation('operator', nothing, notices.deliveryItem),
  'GET /operate/webhooks/:webhook/deliveries': query('operator', pageQuery, pageOf(notices.deliveryItem)),
  'POST /operate/webhooks/:webhook/deliveries/:delivery/resend': mutation('operator', nothing, notices.deliveryItem),
  'GET /operate/system': query('operator', nothing, operate.systemAnswer),
} as const

type Api = typeof CONSOLE_API
export type RouteName = keyof Api
export type QueryOf<Name extends RouteName> = z.input<Api[Name]['query']>
export type BodyOf<Name extends RouteName> = z.input<Api[Name]['body']>
export type AnswerOf<Name extends RouteName> = z.output<Api[Name]['answer']>
