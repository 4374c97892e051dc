import { z } from 'zod'
import { applied, applyBody } from './accounts-file.ts'
import { type AdminScope, adminKeyItem, createAdminKeyBody, madeAdminKey, revokedAdminKey } from './admin-keys.ts'
import * as operate from './operate.ts'
import * as owner from './owner.ts'
import { auditItem, auditQuery, role } from './people.ts'
import { count, keyKind, moment, money, named, nothing, pageOf, pageQuery, time, timeOrNull } from './values.ts'

/** A file, which has no schema. */
const FILE = z.string()

const ofAnyAccount = { account: named.optional() }

const limits = z.strictObject({
  requests_per_minute: count.optional(),
  tokens_per_minute: count.optional(),
  concurrent: count.optional(),
})

/** An API key as operators see it. */
const apiKey = z.strictObject({
  id: z.string(),
  account: z.string(),
  email: z.string(),
  kind: keyKind,
  name: z.string(),
  shown: z.string(),
  state: owner.keyItem.shape.state,
  playground: z.boolean(),
  models: z.array(z.string()).nullable(),
  limits,
  caps: z.strictObject({ day: money.optional(), month: money.optional() }),
  expires_at: timeOrNull,
  created_at: time,
  former: owner.keyItem.shape.former,
})

/** The secret is returned once and stored nowhere. */
const madeApiKey = z.strictObject({ key: apiKey, secret: z.string() })

const person = z.strictObject({
  id: z.string(),
  email: z.string(),
  role,
  account: z.string().nullable(),
  created_at: time,
  disabled_at: timeOrNull,
})

const invitation = z.strictObject({
  ...operate.invited.shape,
  email: z.string().nullable(),
  role,
  account: z.string().nullable(),
  resets: z.boolean(),
})

const walletBalance = z.strictObject({
  account: z.string(),
  email: z.string(),
  currency: z.literal('USD'),
  ...owner.wallet.shape,
})

/** `repeated`: the reference was known with this amount, so no money was moved. */
const moved = z.strictObject({
  account: z.string(),
  email: z.string(),
  amount: money,
  ref: z.string(),
  reason: z.string(),
  repeated: z.boolean(),
  ...owner.wallet.shape,
})

const walletEntry = z.strictObject({ kind: z.string(), amount: money, ref: z.string(), reason: z.string(), at: time })

const subscription = z.strictObject({
  account: z.string(),
  email: z.string(),
  ...owner.planAnswer.pick({ state: true, plan: true, since: true, until: true, billing_day: true }).shape,
  windows: z.array(owner.window.omit({ id: true, requests: true })),
})

/** Null: the key lacks the scope that the part needs by itself. */
const guardedParts = { wallet: owner.wallet.nullable() }
const listedAccount = operate.accountItem.extend(guardedParts)
const accountDetail = operate.accountDetail.extend({
  ...guardedParts,
  subscription: operate.accountDetail.shape.subscription.nullable(),
  members: operate.accountDetail.shape.members.nullable(),
})

/** An example of a request, which a test sends to a server. Ids in the path are not part of it. */
interface Example<Query extends z.ZodType, Body extends z.ZodType> {
  readonly query?: z.input<Query>
  readonly body?: z.input<Body>
}

/**
 * A route of the management API, relative to `/admin/v1`; `:name` in its path is an id, or an email where an account is named.
 * `any`: every valid admin key may call it.
 */
export interface AdminRoute<Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType> {
  readonly scope: AdminScope | 'any'
  /** Begins with a verb. */
  readonly summary: string
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
  readonly example: Example<Query, Body>
  /** The media type of an answer that is a file. */
  readonly file?: 'text/csv' | 'application/jsonl'
}

export type AnyAdminRoute = AdminRoute<z.ZodType, z.ZodType, z.ZodType>

const query = <Query extends z.ZodType, Answer extends z.ZodType>(
  scope: AdminScope | 'any',
  summary: string,
  querySchema: Query,
  answer: Answer,
  example: z.input<Query>,
): AdminRoute<Query, typeof nothing, Answer> => ({
  ...{ scope, summary, query: querySchema, body: nothing, answer, example: { query: example } },
})

const mutation = <Body extends z.ZodType, Answer extends z.ZodType>(
  scope: AdminScope,
  summary: string,
  body: Body,
  answer: Answer,
  example: z.input<Body>,
): AdminRoute<typeof nothing, Body, Answer> => ({
  ...{ scope, summary, query: nothing, body, answer, example: { body: example } },
})

const file = <Query extends z.ZodType>(
  scope: AdminScope,
  type: 'text/csv' | 'application/jsonl',
  summary: string,
  querySchema: Query,
  example: z.input<Query>,
) => ({ ...query(scope, summary, querySchema, FILE, example), file: type })

const FEBRUARY = { from: '2026-02-01', to: '2026-03-01' }
const BY_MODEL = { ...FEBRUARY, zone: 'Europe/Berlin', step: 'day', by: 'model' } as const
const MOVE = { amount: '10.00', reason: 'Invoice 4711' }

/**
 * The routes of the management API. The server serves only this table, `openapi.json` and the page of the API are generated
 * from it, and a test calls each route with each scope.
 */
export const ADMIN_API = {
  'GET /key': query('any', 'Describe the admin key that asks', nothing, adminKeyItem, {}),

  'GET /accounts': query('accounts:read', 'List accounts, newest first', operate.accountsQuery, pageOf(listedAccount), {
    search: 'example.com',
  }),
  'POST /accounts': mutation(
    'accounts:write',
    'Create an account with an empty wallet',
    operate.createAccountBody,
    accountDetail,
    { email: 'new@example.com' },
  ),
  'GET /accounts/:account': query('accounts:read', 'Show an account', nothing, accountDetail, {}),
  'PATCH /accounts/:account': mutation(
    'accounts:write',
    'Suspend or activate an account',
    operate.statusBody,
    accountDetail,
    { status: 'active' },
  ),

  'POST /apply': mutation(
    'admin',
    'Make up to 25 accounts what their entries say: status, plan, credit, people and keys',
    applyBody,
    applied,
    { accounts: [{ email: 'ann@example.com', keys: [{ name: 'laptop', kind: 'wallet' }] }], dry_run: true },
  ),

  'GET /people': query(
    'people:read',
    'List the people who can sign in, oldest first',
    pageQuery.extend(ofAnyAccount),
    pageOf(person),
    {},
  ),
  'POST /people/invitations': mutation(
    'people:write',
    'Create a one-time link to sign up, or to choose a new password. For operators the key needs the scope admin',
    operate.inviteBody.extend(ofAnyAccount),
    invitation,
    { role: 'owner', account: 'ann@example.com', email: 'guest@example.com' },
  ),
  'POST /people/:person/disable': mutation(
    'people:write',
    'End all sessions of a person and block sign-in. For operators the key needs the scope admin',
    nothing,
    person,
    {},
  ),
  'POST /people/:person/enable': mutation(
    'people:write',
    'Allow a person to sign in again. For operators the key needs the scope admin',
    nothing,
    person,
    {},
  ),

  'GET /keys': query(
    'keys:read',
    'List API keys without their secrets, newest first',
    pageQuery.extend(ofAnyAccount),
    pageOf(apiKey),
    { account: 'ann@example.com', limit: 10 },
  ),
  'POST /keys': mutation(
    'keys:write',
    'Create an API key. The answer has its secret once',
    owner.createKeyBody.extend({ account: named }),
    madeApiKey,
    { account: 'ann@example.com', kind: 'wallet', name: 'CI', caps: { month: '50.00' }, expires: '90d' },
  ),
  'GET /keys/:key': query(
    'keys:read',
    'Show an API key, and what is left of its spend caps',
    nothing,
    apiKey.extend({ spent: owner.keyItem.shape.caps }),
    {},
  ),
  'PATCH /keys/:key': mutation(
    'keys:write',
    'Change terms of an API key. Absent terms stay',
    owner.changeKeyBody,
    apiKey,
    { name: 'CI nightly', limits: { requests_per_minute: 60 } },
  ),
  'POST /keys/:key/rotate': mutation(
    'keys:write',
    'Give an API key a new secret. The answer has it once',
    owner.rotateKeyBody,
    madeApiKey,
    { grace: '24h' },
  ),
  'POST /keys/:key/revoke': mutation('keys:write', 'Revoke an API key, which is final', nothing, apiKey, {}),

  'GET /accounts/:account/wallet': query('wallet:read', 'Show a balance', nothing, walletBalance, {}),
  'GET /accounts/:account/wallet/entries': query(
    'wallet:read',
    'List credits, refunds and adjustments, newest first',
    pageQuery,
    pageOf(walletEntry),
    {},
  ),
  'GET /accounts/:account/wallet/statement': query(
    'wallet:read',
    'List all movements of a wallet with the balance after each, newest first',
    owner.statementQuery,
    pageOf(owner.movement),
    FEBRUARY,
  ),
  'GET /accounts/:account/wallet/statement.csv': file(
    'wallet:read',
    'text/csv',
    'Export the statement of a wallet',
    owner.statementExportQuery,
    FEBRUARY,
  ),
  'POST /accounts/:account/wallet/credit': mutation(
    'wallet:write',
    'Add prepaid balance. The same `ref` counts once',
    operate.creditBody,
    moved,
    { ...MOVE, ref: 'invoice-4711' },
  ),
  'POST /accounts/:account/wallet/refund': mutation(
    'wallet:write',
    'Subtract balance that was paid back. The same `ref` counts once',
    operate.creditBody,
    moved,
    { ...MOVE, amount: '1.00', ref: 'refund-4711' },
  ),
  'POST /accounts/:account/wallet/adjust': mutation(
    'wallet:write',
    'Correct a balance. The same `ref` counts once',
    operate.creditBody.extend({ direction: z.enum(['add', 'take']) }),
    moved,
    { ...MOVE, amount: '0.50', ref: 'fix-4711', direction: 'take' },
  ),
  'GET /funding-requests': query(
    'wallet:read',
    'List open funding requests, oldest first',
    pageQuery,
    pageOf(operate.accountFundingRequest),
    {},
  ),

  'GET /codes': query('codes:read', 'List redeem codes, newest first', pageQuery, operate.codesPage, {}),
  'POST /codes': mutation(
    'codes:write',
    'Create redeem codes. The answer has their texts once',
    operate.createCodesBody,
    operate.madeCodes,
    { amount: '5.00', count: 2, note: 'workshop', expires: '30d' },
  ),
  'POST /codes/:code/withdraw': mutation(
    'codes:write',
    'Withdraw a code that was not redeemed',
    nothing,
    operate.codeItem,
    {},
  ),

  'GET /plans': query(
    'plans:read',
    'List the plans of the configuration',
    nothing,
    z.strictObject({ items: z.array(operate.planItem) }),
    {},
  ),
  'GET /accounts/:account/plan': query('plans:read', 'Show the subscription of an account', nothing, subscription, {}),
  'PUT /accounts/:account/plan': mutation(
    'plans:write',
    'Assign a plan, or change it',
    z.strictObject({ plan: named, until: moment.optional() }),
    subscription,
    { plan: 'pro', until: '30d' },
  ),
  'POST /accounts/:account/plan/end': mutation(
    'plans:write',
    'End a subscription, now or later',
    z.strictObject({ at: moment.optional() }),
    subscription,
    {},
  ),

  'GET /accounts/:account/usage': query(
    'usage:read',
    'Report the usage of an account by model, key or kind',
    owner.usageQuery,
    owner.usageAnswer,
    BY_MODEL,
  ),
  'GET /accounts/:account/usage.csv': file(
    'usage:read',
    'text/csv',
    'Export the usage of an account',
    owner.usageQuery,
    BY_MODEL,
  ),

  'GET /accounts/:account/requests': query(
    'requests:read',
    'List the requests of an account: running ones, then the last ones first',
    owner.requestsQuery,
    owner.requestsPage,
    { outcome: 'ok', limit: 20 },
  ),
  'GET /accounts/:account/requests.jsonl': file(
    'requests:read',
    'application/jsonl',
    'Export the requests of an account, one JSON object a line',
    owner.requestsQuery.omit({ after: true, limit: true }),
    {},
  ),
  'GET /requests/:request': query(
    'requests:read',
    'Show the receipt of any request: usage, price and attempts, never its contents',
    nothing,
    operate.foundRequest,
    {},
  ),

  'GET /audit': query('audit:read', 'List the audit log, newest first', auditQuery, pageOf(auditItem), { limit: 20 }),

  'GET /admin-keys': query(
    'admin-keys:read',
    'List admin keys without their secrets, newest first',
    pageQuery,
    pageOf(adminKeyItem),
    {},
  ),
  'POST /admin-keys': mutation(
    'admin-keys:write',
    'Create an admin key that can do no more than the one that asks. The answer has its secret once',
    createAdminKeyBody,
    madeAdminKey,
    { name: 'Reports', scopes: ['admin-keys:read'], expires: '1h' },
  ),
  'POST /admin-keys/:key/revoke': mutation(
    'admin-keys:write',
    'Revoke an admin key, which is final. `made` has the active keys that it has made, which stay',
    nothing,
    revokedAdminKey,
    {},
  ),
} as const

type Api = typeof ADMIN_API
export type AdminRouteName = keyof Api
export type AdminAnswerOf<Name extends AdminRouteName> = z.output<Api[Name]['answer']>

/** The same by name, for code that treats all routes alike. */
export const ADMIN_ROUTES: Readonly<Record<AdminRouteName, AnyAdminRoute>> = ADMIN_API
