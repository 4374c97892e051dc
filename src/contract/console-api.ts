import { z } from 'zod'
import * as operate from './operate.ts'
import * as owner from './owner.ts'
import * as people from './people.ts'
import { nothing, pageOf, pageQuery, type Requester, type Route } from './values.ts'

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

/**
 * The routes of the console API. The server serves only this table, the console's fetcher is typed by it, and a test checks
 * that each route is refused to everyone but `who`.
 */
export const CONSOLE_API = {
  'GET /session': query('anyone', nothing, people.sessionStatus),
  'POST /session': mutation('anyone', people.signIn, people.sessionStatus),
  'DELETE /session': mutation('signed-in', nothing, people.sessionStatus),
  'POST /session/confirm': mutation('signed-in', people.confirm, people.sessionStatus),
  'POST /invitation': mutation('anyone', people.requestInvitation, people.invitation),
  'POST /sign-up': mutation('anyone', people.signUp, people.sessionStatus),
  'PUT /password': mutation('signed-in', people.changePassword, people.sessionStatus),
  'GET /sessions': query('signed-in', nothing, z.strictObject({ items: z.array(people.sessionItem) })),
  'DELETE /sessions/:session': mutation('signed-in', nothing, NO_ANSWER),
  'GET /audit': query('owner', people.auditQuery, pageOf(people.auditItem)),

  'GET /overview': query('owner', nothing, owner.overviewAnswer),
  'GET /overview/usage': query('owner', owner.latelyUsedQuery, owner.latelyUsed),
  'GET /keys': query('owner', owner.keysQuery, pageOf(owner.listedKey)),
  'POST /keys': confirmedMutation('owner', owner.createKeyBody, owner.madeKey),
  'GET /keys/:key': query('owner', nothing, owner.keyItem),
  'PATCH /keys/:key': { ...mutation('owner', owner.changeKeyBody, owner.keyItem), confirmed: 'to-widen' },
  'POST /keys/:key/rotate': confirmedMutation('owner', owner.rotateKeyBody, owner.madeKey),
  'POST /keys/:key/revoke': { ...mutation('owner', nothing, owner.keyItem), confirmed: 'to-widen' },
  'GET /wallet': query('owner', nothing, owner.walletAnswer),
  'GET /wallet/statement': query('owner', owner.statementQuery, pageOf(owner.movement)),
  'GET /wallet/statement.csv': query('owner', owner.statementExportQuery, FILE),
  'POST /wallet/redeem': confirmedMutation('owner', owner.redeemBody, owner.redeemed),
  'POST /wallet/ask': mutation('owner', owner.requestFundingBody, owner.walletAnswer),
  'GET /plan': query('owner', nothing, owner.planAnswer),
  'GET /plan/windows/:window': query('owner', pageQuery, owner.windowRows),
  'GET /usage': query('owner', owner.usageQuery, owner.usageAnswer),
  'GET /usage.csv': query('owner', owner.usageQuery, FILE),
  'GET /usage/refused': query('owner', owner.refusedTurnsQuery, owner.refusedTurnsAnswer),
  'GET /requests': query('owner', owner.requestsQuery, owner.requestsPage),
  'GET /requests/:request': query('owner', nothing, owner.requestDetail),
  'GET /models': query('owner', nothing, owner.modelsAnswer),

  'GET /operate/accounts': query('operator', operate.accountsQuery, operate.accountsPage),
  'POST /operate/accounts': mutation('operator', operate.createAccountBody, operate.accountDetail),
  'GET /operate/accounts/:account': query('operator', nothing, operate.accountDetail),
  'POST /operate/accounts/:account/credit': confirmedMutation('operator', operate.creditBody, operate.credited),
  'POST /operate/accounts/:account/status': mutation('operator', operate.statusBody, operate.accountDetail),
  'POST /operate/accounts/:account/plan': confirmedMutation('operator', operate.assignPlanBody, operate.accountDetail),
  'POST /operate/accounts/:account/invite': confirmedMutation('operator', operate.inviteBody, operate.invited),
  'POST /operate/people/:person/disable': confirmedMutation('operator', nothing, NO_ANSWER),
  'POST /operate/people/:person/enable': confirmedMutation('operator', nothing, NO_ANSWER),
  'GET /operate/codes': query('operator', pageQuery, operate.codesPage),
  'POST /operate/codes': confirmedMutation('operator', operate.createCodesBody, operate.madeCodes),
  'POST /operate/codes/:code/withdraw': mutation('operator', nothing, operate.codeItem),
  'GET /operate/plans': query('operator', nothing, z.strictObject({ items: z.array(operate.planItem) })),
  'GET /operate/lanes': query('operator', nothing, z.strictObject({ items: z.array(operate.operatorModel) })),
  'GET /operate/wishes': query('operator', pageQuery, pageOf(operate.accountFundingRequest)),
  'GET /operate/requests/:request': query('operator', nothing, operate.foundRequest),
  'GET /operate/audit': query('operator', pageQuery, pageOf(people.auditItem)),
  'GET /operate/system': query('operator', nothing, operate.systemAnswer),
} as const

type Api = typeof CONSOLE_API
export type RouteName = keyof Api
export type QueryOf<Name extends RouteName> = z.input<Api[Name]['query']>
export type BodyOf<Name extends RouteName> = z.input<Api[Name]['body']>
export type AnswerOf<Name extends RouteName> = z.output<Api[Name]['answer']>

/** The ids in the path: `GET /keys/:key` has a `key`. */
export type ParamsOf<Path extends string> = Record<NamesIn<Path>, string>
type NamesIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer One}/${infer More}`
    ? One | NamesIn<More>
    : Rest
  : never
