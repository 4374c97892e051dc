import { z } from 'zod'
import { changeKeyBody, createKeyBody, keyItem, keysQuery, listedKey, madeKey, rotateKeyBody } from './keys.ts'
import { modelsAnswer } from './models.ts'
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
  fundWish,
  inviteBody,
  invited,
  madeCodes,
  operatorModel,
  planItem,
  statusBody,
  systemAnswer,
} from './operate.ts'
import { latelyUsed, latelyUsedQuery, overviewAnswer } from './overview.ts'
import {
  auditItem,
  auditQuery,
  changePassword,
  confirm,
  invitation,
  invitationQuery,
  sessionItem,
  signIn,
  signUp,
  standing,
} from './people.ts'
import { planAnswer, windowRows } from './plan.ts'
import { requestDetail, requestsPage, requestsQuery } from './requests.ts'
import type { Asker, Route } from './route.ts'
import { refusedTurnsAnswer, refusedTurnsQuery, usageAnswer, usageQuery } from './usage.ts'
import { nothing, pageOf, pageQuery } from './values.ts'
import {
  askForFundsBody,
  movement,
  redeemBody,
  redeemed,
  statementExportQuery,
  statementQuery,
  walletAnswer,
} from './wallet.ts'

const NO_ANSWER = z.strictObject({})
/** A file: the schema says nothing of it. */
const FILE = z.string()

const ask = <Who extends Asker, Answer extends z.ZodType, Query extends z.ZodType = typeof nothing>(
  who: Who,
  answer: Answer,
  query: Query = nothing as unknown as Query,
): Route<Who, Query, typeof nothing, Answer> => ({ who, confirmed: false, query, body: nothing, answer })

const act = <Who extends Asker, Body extends z.ZodType, Answer extends z.ZodType>(
  who: Who,
  body: Body,
  answer: Answer,
): Route<Who, typeof nothing, Body, Answer> => ({ who, confirmed: false, query: nothing, body, answer })

/** An act that makes keys or moves money: the password has to be fresh. */
const graveAct = <Who extends Asker, Body extends z.ZodType, Answer extends z.ZodType>(
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
  'GET /session': ask('anyone', standing),
  'POST /session': act('anyone', signIn, standing),
  'DELETE /session': act('signed-in', nothing, standing),
  'POST /session/confirm': act('signed-in', confirm, standing),
  'GET /invitation': ask('anyone', invitation, invitationQuery),
  'POST /sign-up': act('anyone', signUp, standing),
  'PUT /password': act('signed-in', changePassword, standing),
  'GET /sessions': ask('signed-in', z.strictObject({ items: z.array(sessionItem) })),
  'DELETE /sessions/:session': act('signed-in', nothing, NO_ANSWER),
  'GET /audit': ask('owner', pageOf(auditItem), auditQuery),

  'GET /overview': ask('owner', overviewAnswer),
  'GET /overview/usage': ask('owner', latelyUsed, latelyUsedQuery),
  'GET /keys': ask('owner', pageOf(listedKey), keysQuery),
  'POST /keys': graveAct('owner', createKeyBody, madeKey),
  'GET /keys/:key': ask('owner', keyItem),
  'PATCH /keys/:key': { ...act('owner', changeKeyBody, keyItem), confirmed: 'to-widen' },
  'POST /keys/:key/rotate': graveAct('owner', rotateKeyBody, madeKey),
  'POST /keys/:key/revoke': { ...act('owner', nothing, keyItem), confirmed: 'to-widen' },
  'GET /wallet': ask('owner', walletAnswer),
  'GET /wallet/statement': ask('owner', pageOf(movement), statementQuery),
  'GET /wallet/statement.csv': ask('owner', FILE, statementExportQuery),
  'POST /wallet/redeem': graveAct('owner', redeemBody, redeemed),
  'POST /wallet/ask': act('owner', askForFundsBody, walletAnswer),
  'GET /plan': ask('owner', planAnswer),
  'GET /plan/windows/:window': ask('owner', windowRows, pageQuery),
  'GET /usage': ask('owner', usageAnswer, usageQuery),
  'GET /usage.csv': ask('owner', FILE, usageQuery),
  'GET /usage/refused': ask('owner', refusedTurnsAnswer, refusedTurnsQuery),
  'GET /requests': ask('owner', requestsPage, requestsQuery),
  'GET /requests/:request': ask('owner', requestDetail),
  'GET /models': ask('owner', modelsAnswer),

  'GET /operate/accounts': ask('operator', accountsPage, accountsQuery),
  'POST /operate/accounts': act('operator', createAccountBody, accountDetail),
  'GET /operate/accounts/:account': ask('operator', accountDetail),
  'POST /operate/accounts/:account/credit': graveAct('operator', creditBody, credited),
  'POST /operate/accounts/:account/status': act('operator', statusBody, accountDetail),
  'POST /operate/accounts/:account/plan': graveAct('operator', assignPlanBody, accountDetail),
  'POST /operate/accounts/:account/invite': graveAct('operator', inviteBody, invited),
  'POST /operate/people/:person/disable': graveAct('operator', nothing, NO_ANSWER),
  'POST /operate/people/:person/enable': graveAct('operator', nothing, NO_ANSWER),
  'GET /operate/codes': ask('operator', codesPage, pageQuery),
  'POST /operate/codes': graveAct('operator', createCodesBody, madeCodes),
  'POST /operate/codes/:code/withdraw': act('operator', nothing, codeItem),
  'GET /operate/plans': ask('operator', z.strictObject({ items: z.array(planItem) })),
  'GET /operate/lanes': ask('operator', z.strictObject({ items: z.array(operatorModel) })),
  'GET /operate/wishes': ask('operator', pageOf(fundWish), pageQuery),
  'GET /operate/requests/:request': ask('operator', foundRequest),
  'GET /operate/audit': ask('operator', pageOf(auditItem), pageQuery),
  'GET /operate/system': ask('operator', systemAnswer),
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
