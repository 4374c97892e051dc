import { z } from 'zod'
import {
  accountDetail,
  accountFundingRequest,
  accountsPage,
  accountsQuery,
  assignPlanBody,
  codeItem,
  codesPage,
  createAccountBody,
  createCodesBody,
  creditBody,
  credited,
  foundRequest,
  inviteBody,
  invited,
  madeCodes,
  operatorModel,
  planItem,
  statusBody,
  systemAnswer,
} from './operate.ts'
import {
  changeKeyBody,
  createKeyBody,
  keyItem,
  keysQuery,
  latelyUsed,
  latelyUsedQuery,
  listedKey,
  madeKey,
  modelsAnswer,
  movement,
  overviewAnswer,
  planAnswer,
  redeemBody,
  redeemed,
  refusedTurnsAnswer,
  refusedTurnsQuery,
  requestDetail,
  requestFundingBody,
  requestsPage,
  requestsQuery,
  rotateKeyBody,
  statementExportQuery,
  statementQuery,
  usageAnswer,
  usageQuery,
  walletAnswer,
  windowRows,
} from './owner.ts'
import {
  auditItem,
  auditQuery,
  changePassword,
  confirm,
  invitation,
  requestInvitation,
  sessionItem,
  sessionStatus,
  signIn,
  signUp,
} from './people.ts'
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
  'GET /session': query('anyone', nothing, sessionStatus),
  'POST /session': mutation('anyone', signIn, sessionStatus),
  'DELETE /session': mutation('signed-in', nothing, sessionStatus),
  'POST /session/confirm': mutation('signed-in', confirm, sessionStatus),
  'POST /invitation': mutation('anyone', requestInvitation, invitation),
  'POST /sign-up': mutation('anyone', signUp, sessionStatus),
  'PUT /password': mutation('signed-in', changePassword, sessionStatus),
  'GET /sessions': query('signed-in', nothing, z.strictObject({ items: z.array(sessionItem) })),
  'DELETE /sessions/:session': mutation('signed-in', nothing, NO_ANSWER),
  'GET /audit': query('owner', auditQuery, pageOf(auditItem)),

  'GET /overview': query('owner', nothing, overviewAnswer),
  'GET /overview/usage': query('owner', latelyUsedQuery, latelyUsed),
  'GET /keys': query('owner', keysQuery, pageOf(listedKey)),
  'POST /keys': confirmedMutation('owner', createKeyBody, madeKey),
  'GET /keys/:key': query('owner', nothing, keyItem),
  'PATCH /keys/:key': { ...mutation('owner', changeKeyBody, keyItem), confirmed: 'to-widen' },
  'POST /keys/:key/rotate': confirmedMutation('owner', rotateKeyBody, madeKey),
  'POST /keys/:key/revoke': { ...mutation('owner', nothing, keyItem), confirmed: 'to-widen' },
  'GET /wallet': query('owner', nothing, walletAnswer),
  'GET /wallet/statement': query('owner', statementQuery, pageOf(movement)),
  'GET /wallet/statement.csv': query('owner', statementExportQuery, FILE),
  'POST /wallet/redeem': confirmedMutation('owner', redeemBody, redeemed),
  'POST /wallet/ask': mutation('owner', requestFundingBody, walletAnswer),
  'GET /plan': query('owner', nothing, planAnswer),
  'GET /plan/windows/:window': query('owner', pageQuery, windowRows),
  'GET /usage': query('owner', usageQuery, usageAnswer),
  'GET /usage.csv': query('owner', usageQuery, FILE),
  'GET /usage/refused': query('owner', refusedTurnsQuery, refusedTurnsAnswer),
  'GET /requests': query('owner', requestsQuery, requestsPage),
  'GET /requests/:request': query('owner', nothing, requestDetail),
  'GET /models': query('owner', nothing, modelsAnswer),

  'GET /operate/accounts': query('operator', accountsQuery, accountsPage),
  'POST /operate/accounts': mutation('operator', createAccountBody, accountDetail),
  'GET /operate/accounts/:account': query('operator', nothing, accountDetail),
  'POST /operate/accounts/:account/credit': confirmedMutation('operator', creditBody, credited),
  'POST /operate/accounts/:account/status': mutation('operator', statusBody, accountDetail),
  'POST /operate/accounts/:account/plan': confirmedMutation('operator', assignPlanBody, accountDetail),
  'POST /operate/accounts/:account/invite': confirmedMutation('operator', inviteBody, invited),
  'POST /operate/people/:person/disable': confirmedMutation('operator', nothing, NO_ANSWER),
  'POST /operate/people/:person/enable': confirmedMutation('operator', nothing, NO_ANSWER),
  'GET /operate/codes': query('operator', pageQuery, codesPage),
  'POST /operate/codes': confirmedMutation('operator', createCodesBody, madeCodes),
  'POST /operate/codes/:code/withdraw': mutation('operator', nothing, codeItem),
  'GET /operate/plans': query('operator', nothing, z.strictObject({ items: z.array(planItem) })),
  'GET /operate/lanes': query('operator', nothing, z.strictObject({ items: z.array(operatorModel) })),
  'GET /operate/wishes': query('operator', pageQuery, pageOf(accountFundingRequest)),
  'GET /operate/requests/:request': query('operator', nothing, foundRequest),
  'GET /operate/audit': query('operator', pageQuery, pageOf(auditItem)),
  'GET /operate/system': query('operator', nothing, systemAnswer),
} as const

type Api = typeof CONSOLE_API
export type RouteName = keyof Api
export type QueryOf<Name extends RouteName> = z.input<Api[Name]['query']>
export type BodyOf<Name extends RouteName> = z.input<Api[Name]['body']>
export type AnswerOf<Name extends RouteName> = z.output<Api[Name]['answer']>

/** The ids in the path: `GET /keys/:key` has a `key`. */
export type ParamsOf<Name extends RouteName> = Record<NamesIn<Name>, string>
type NamesIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer One}/${infer More}`
    ? One | NamesIn<More>
    : Rest
  : never
