import { z } from 'zod'
import {
  accountDetail,
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
  fundingRequest,
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
  signIn,
  signUp,
  standing,
} from './people.ts'
import { nothing, pageOf, pageQuery, type Requester, type Route } from './values.ts'

const NO_ANSWER = z.strictObject({})
/** A file: the schema says nothing of it. */
const FILE = z.string()

const ask = <Who extends Requester, Query extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  query: Query,
  answer: Answer,
): Route<Who, Query, typeof nothing, Answer> => ({ who, confirmed: false, query, body: nothing, answer })

const act = <Who extends Requester, Body extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  body: Body,
  answer: Answer,
): Route<Who, typeof nothing, Body, Answer> => ({ who, confirmed: false, query: nothing, body, answer })

/** An act that makes keys or moves money: the password has to be fresh. */
const graveAct = <Who extends Requester, Body extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  body: Body,
  answer: Answer,
) => ({
  ...act(who, body, answer),
  confirmed: true,
})

/**
 * Everything that the console can ask and do. The server serves this table and nothing else, the console's fetcher is
 * typed by it, and the tests go through it: who is not meant by `who` gets nothing.
 */
export const CONSOLE_API = {
  'GET /session': ask('anyone', nothing, standing),
  'POST /session': act('anyone', signIn, standing),
  'DELETE /session': act('signed-in', nothing, standing),
  'POST /session/confirm': act('signed-in', confirm, standing),
  'POST /invitation': act('anyone', requestInvitation, invitation),
  'POST /sign-up': act('anyone', signUp, standing),
  'PUT /password': act('signed-in', changePassword, standing),
  'GET /sessions': ask('signed-in', nothing, z.strictObject({ items: z.array(sessionItem) })),
  'DELETE /sessions/:session': act('signed-in', nothing, NO_ANSWER),
  'GET /audit': ask('owner', auditQuery, pageOf(auditItem)),

  'GET /overview': ask('owner', nothing, overviewAnswer),
  'GET /overview/usage': ask('owner', latelyUsedQuery, latelyUsed),
  'GET /keys': ask('owner', keysQuery, pageOf(listedKey)),
  'POST /keys': graveAct('owner', createKeyBody, madeKey),
  'GET /keys/:key': ask('owner', nothing, keyItem),
  'PATCH /keys/:key': { ...act('owner', changeKeyBody, keyItem), confirmed: 'to-widen' },
  'POST /keys/:key/rotate': graveAct('owner', rotateKeyBody, madeKey),
  'POST /keys/:key/revoke': { ...act('owner', nothing, keyItem), confirmed: 'to-widen' },
  'GET /wallet': ask('owner', nothing, walletAnswer),
  'GET /wallet/statement': ask('owner', statementQuery, pageOf(movement)),
  'GET /wallet/statement.csv': ask('owner', statementExportQuery, FILE),
  'POST /wallet/redeem': graveAct('owner', redeemBody, redeemed),
  'POST /wallet/ask': act('owner', requestFundingBody, walletAnswer),
  'GET /plan': ask('owner', nothing, planAnswer),
  'GET /plan/windows/:window': ask('owner', pageQuery, windowRows),
  'GET /usage': ask('owner', usageQuery, usageAnswer),
  'GET /usage.csv': ask('owner', usageQuery, FILE),
  'GET /usage/refused': ask('owner', refusedTurnsQuery, refusedTurnsAnswer),
  'GET /requests': ask('owner', requestsQuery, requestsPage),
  'GET /requests/:request': ask('owner', nothing, requestDetail),
  'GET /models': ask('owner', nothing, modelsAnswer),

  'GET /operate/accounts': ask('operator', accountsQuery, accountsPage),
  'POST /operate/accounts': act('operator', createAccountBody, accountDetail),
  'GET /operate/accounts/:account': ask('operator', nothing, accountDetail),
  'POST /operate/accounts/:account/credit': graveAct('operator', creditBody, credited),
  'POST /operate/accounts/:account/status': act('operator', statusBody, accountDetail),
  'POST /operate/accounts/:account/plan': graveAct('operator', assignPlanBody, accountDetail),
  'POST /operate/accounts/:account/invite': graveAct('operator', inviteBody, invited),
  'POST /operate/people/:person/disable': graveAct('operator', nothing, NO_ANSWER),
  'POST /operate/people/:person/enable': graveAct('operator', nothing, NO_ANSWER),
  'GET /operate/codes': ask('operator', pageQuery, codesPage),
  'POST /operate/codes': graveAct('operator', createCodesBody, madeCodes),
  'POST /operate/codes/:code/withdraw': act('operator', nothing, codeItem),
  'GET /operate/plans': ask('operator', nothing, z.strictObject({ items: z.array(planItem) })),
  'GET /operate/lanes': ask('operator', nothing, z.strictObject({ items: z.array(operatorModel) })),
  'GET /operate/wishes': ask('operator', pageQuery, pageOf(fundingRequest)),
  'GET /operate/requests/:request': ask('operator', nothing, foundRequest),
  'GET /operate/audit': ask('operator', pageQuery, pageOf(auditItem)),
  'GET /operate/system': ask('operator', nothing, systemAnswer),
} as const

type Api = typeof CONSOLE_API
export type RouteName = keyof Api
export type QueryOf<Name extends RouteName> = z.input<Api[Name]['query']>
export type BodyOf<Name extends RouteName> = z.input<Api[Name]['body']>
export type AnswerOf<Name extends RouteName> = z.output<Api[Name]['answer']>

/** The ids in its path: `GET /keys/:key` has a `key`. */
export type ParamsOf<Name extends RouteName> = Record<NamesIn<Name>, string>
type NamesIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer One}/${infer More}`
    ? One | NamesIn<More>
    : Rest
  : never
