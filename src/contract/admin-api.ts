import { z } from 'zod'
import { applied, applyBody } from './accounts-file.ts'
import { adminKeyItem, createAdminKeyBody, madeAdminKey, revokedAdminKey } from './admin-keys.ts'
import { type AnyAdminRoute, file, mutation, query } from './admin-route.ts'
import {
  accountDetail,
  apiKey,
  invitation,
  listedAccount,
  madeApiKey,
  member,
  moved,
  ofAnyAccount,
  person,
  subscription,
  walletBalance,
  walletEntry,
} from './admin-views.ts'
import { capStatus, caps, changeTeamBody, createTeamBody, newKeyCaps, raiseBody, raised, teamItem } from './caps.ts'
import {
  foundModels,
  historyQuery,
  managedAnswer,
  managedChange,
  managedHistory,
  previewBody,
  pricePreview,
  providerBody,
  testBody,
  testedModel,
} from './managed.ts'
import * as notices from './notices.ts'
import * as operate from './operate.ts'
import * as reports from './operator-reports.ts'
import * as owner from './owner.ts'
import { accountPayment, paymentItem, paymentsQuery, reconcileBody, reconciliation } from './payments.ts'
import { auditExportQuery, auditItem, operatorAuditQuery } from './people.ts'
import { count, moment, named, nothing, pageOf, pageQuery } from './values.ts'

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
  'POST /people/:person/remove-factors': mutation(
    'people:write',
    'Remove the authenticator app, passkeys and recovery codes of a person who has lost them. For operators the key needs the scope admin',
    nothing,
    z.strictObject({ id: z.string(), email: z.string(), authenticator_app: z.boolean(), passkeys: count }),
    {},
  ),

  'GET /people/:person': query(
    'people:read',
    'Show a person of an account, and what is left of their caps across all of their keys',
    nothing,
    member,
    {},
  ),
  'PATCH /people/:person/caps': mutation(
    'people:write',
    'Change caps of a person across all of their keys. Absent caps stay; null removes one',
    caps,
    member,
    { day: '5.00', requests_day: 1000 },
  ),
  'POST /people/:person/raise': mutation(
    'people:write',
    'Raise a cap of a person until an end, after which it is as before. Changing it ends the raise',
    raiseBody,
    raised,
    { cap: 'day', to: '20.00', until: '12h' },
  ),

  'GET /accounts/:account/teams': query(
    'keys:read',
    'List the teams of an account with their budgets, oldest first, archived ones included',
    pageQuery,
    pageOf(teamItem),
    {},
  ),
  'POST /accounts/:account/teams': mutation(
    'keys:write',
    'Create a team, whose keys share its budgets inside the wallet or plan of the account',
    createTeamBody,
    teamItem,
    { name: 'Research', caps: { month: '500.00' } },
  ),
  'GET /teams/:team': query('keys:read', 'Show a team, and what is left of its budgets', nothing, teamItem, {}),
  'PATCH /teams/:team': mutation(
    'keys:write',
    'Change budgets of a team, its name, or archive it. Absent terms stay',
    changeTeamBody,
    teamItem,
    { caps: { week: '100.00', quarter: null } },
  ),
  'POST /teams/:team/raise': mutation(
    'keys:write',
    'Raise a budget of a team until an end, after which it is as before. Changing it ends the raise',
    raiseBody,
    raised,
    { cap: 'month', to: '800.00', until: '7d' },
  ),
  'GET /accounts/:account/new-key-caps': query(
    'keys:read',
    'Show the caps that new keys of an account get',
    nothing,
    newKeyCaps,
    {},
  ),
  'PATCH /accounts/:account/new-key-caps': mutation(
    'keys:write',
    'Change the caps that new keys of an account get. Keys that exist stay as they are',
    caps,
    newKeyCaps,
    { month: '50.00' },
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
    apiKey.extend({ spent: z.array(capStatus) }),
    {},
  ),
  'PATCH /keys/:key': mutation(
    'keys:write',
    'Change terms of an API key. Absent terms stay',
    owner.changeKeyBody,
    apiKey,
    { name: 'CI nightly', limits: { requests_per_minute: 60 } },
  ),
  'POST /keys/:key/raise': mutation(
    'keys:write',
    'Raise a cap of an API key until an end, after which it is as before. Changing it ends the raise',
    raiseBody,
    raised,
    { cap: 'month', to: '100.00', until: '7d' },
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
  'GET /accounts/:account/payments': query(
    'wallet:read',
    'List the payments by card of an account, newest first',
    pageQuery,
    pageOf(paymentItem),
    {},
  ),
  'GET /payments': query(
    'wallet:read',
    'List the payments by card of all accounts, newest first; owed: only those of which money is missing',
    paymentsQuery,
    pageOf(accountPayment),
    { owed: 'true' },
  ),
  'POST /payments/reconcile': mutation(
    'wallet:write',
    'Compare the payments of the last days with the provider, and credit what was missed',
    reconcileBody,
    reconciliation,
    { days: 7 },
  ),
  'GET /funding-requests': query(
    'wallet:read',
    'List open funding requests, oldest first',
    pageQuery,
    pageOf(operate.accountFundingRequest),
    {},
  ),

  'GET /notices': query(
    'notices:read',
    'List the notices of an account, newest first; without an account, those that operators are told',
    pageQuery.extend(ofAnyAccount),
    pageOf(notices.noticeItem),
    { limit: 20 },
  ),
  'GET /accounts/:account/notice-settings': query(
    'notices:read',
    'Show below which balance an account is told',
    nothing,
    notices.accountNoticeSettings,
    {},
  ),
  'PATCH /accounts/:account/notice-settings': mutation(
    'notices:write',
    'Change below which balance an account is told. Null: never',
    notices.changeSettingsBody,
    notices.accountNoticeSettings,
    { low_balance: '10.00' },
  ),
  'GET /webhooks': query(
    'notices:read',
    'List the webhooks of an account, oldest first; without an account, those of operators',
    z.strictObject(ofAnyAccount),
    notices.webhookItems,
    { account: 'ann@example.com' },
  ),
  'POST /webhooks': mutation(
    'notices:write',
    'Add a webhook of an account, or of operators. The answer has its secret once',
    notices.addWebhookBody.extend(ofAnyAccount),
    notices.madeWebhook,
    { account: 'ann@example.com', url: 'https://hooks.example.com/millrace', events: ['balance.low', 'cap.reached'] },
  ),
  'PATCH /webhooks/:webhook': mutation(
    'notices:write',
    'Choose the events of a webhook, or switch it on or off. Absent terms stay',
    notices.changeWebhookBody,
    notices.webhookItem,
    { enabled: true },
  ),
  'POST /webhooks/:webhook/rotate': mutation(
    'notices:write',
    'Give a webhook a new secret. For a day, messages are signed with both. The answer has it once',
    nothing,
    notices.madeWebhook,
    {},
  ),
  'POST /webhooks/:webhook/test': mutation(
    'notices:write',
    'Send a message of the type `test` to a webhook',
    nothing,
    notices.deliveryItem,
    {},
  ),
  'GET /webhooks/:webhook/deliveries': query(
    'notices:read',
    'List the deliveries to a webhook, newest first',
    pageQuery,
    pageOf(notices.deliveryItem),
    { limit: 20 },
  ),
  'POST /webhooks/:webhook/deliveries/:delivery/resend': mutation(
    'notices:write',
    'Send a delivery again, with the same `webhook-id`',
    nothing,
    notices.deliveryItem,
    {},
  ),
  'POST /webhooks/:webhook/remove': mutation(
    'notices:write',
    'Remove a webhook and its deliveries',
    nothing,
    z.strictObject({ id: z.string() }),
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
    'Report the usage of an account by model, key, kind, person, team or tag',
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

  'GET /accounts/:account/invoice': query(
    'wallet:read',
    'Show what an account was charged in a month or in days, by day and model, with credits and balances',
    reports.invoiceQuery,
    reports.invoiceAnswer,
    { month: '2026-02', zone: 'Europe/Berlin' },
  ),
  'GET /accounts/:account/invoice.csv': file(
    'wallet:read',
    'text/csv',
    'Export the same as CSV',
    reports.invoiceQuery,
    { month: '2026-02' },
  ),
  'GET /served': query(
    'usage:read',
    'Report revenue, provider cost, margin, errors and latency of the whole server',
    reports.servedQuery,
    reports.servedAnswer,
    { ...FEBRUARY, zone: 'Europe/Berlin', step: 'day' },
  ),
  'GET /lanes/calls': query(
    'usage:read',
    'Report success, latency and the last error of each lane in the last hour and day',
    nothing,
    reports.laneCallsAnswer,
    {},
  ),
  'GET /requests': query(
    'requests:read',
    'List the requests of all accounts, newest first, never their contents',
    reports.allRequestsQuery,
    reports.allRequestsPage,
    { status: 'ok', limit: 20 },
  ),
  'GET /requests.csv': file(
    'requests:read',
    'text/csv',
    'Export the requests of all accounts',
    reports.allRequestsExportQuery,
    { status: 'ok' },
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

  'GET /managed': query(
    'catalog:read',
    'List the upstreams, models and plans that are managed beside the configuration file, and the names that the file has',
    nothing,
    managedAnswer,
    {},
  ),
  'POST /managed': mutation(
    'catalog:write',
    'Change managed upstreams, models, plans and prices as a whole. Entries have the shape of the configuration file; the file decides about the names that it has',
    managedChange,
    managedAnswer,
    {
      upstreams: [{ id: 'sandbox', wire: 'demo' }],
      models: [
        {
          id: 'sandbox-1',
          context_tokens: 128_000,
          max_output_tokens: 8192,
          price: { input: '0.10', output: '0.40' },
          lanes: [{ upstream: 'sandbox', model: 'demo' }],
        },
      ],
    },
  ),
  'GET /managed/history': query(
    'catalog:read',
    'List the versions of a managed entry, newest first; of a model with its prices',
    historyQuery,
    managedHistory,
    { kind: 'model', name: 'sandbox-1' },
  ),
  'GET /managed.yaml': file(
    'catalog:read',
    'application/yaml',
    'Export the managed entries as a part of the configuration file, with variables for secrets',
    nothing,
    {},
  ),
  'POST /managed/preview': mutation(
    'usage:read',
    'Show what the requests of a model in the last 30 days would have cost at another price, by account. It changes nothing',
    previewBody,
    pricePreview,
    { model: 'demo', price: { input: '0.20', output: '0.80' } },
  ),
  'POST /managed/models': mutation(
    'catalog:write',
    'Ask a provider, which need not be saved, for its models, and propose entries from known facts. It changes nothing',
    providerBody,
    foundModels,
    { upstream: { id: 'sandbox', wire: 'demo' } },
  ),
  'POST /managed/test': mutation(
    'catalog:write',
    'Call a model of a provider, which need not be saved. It changes nothing, and the provider counts a few tokens',
    testBody,
    testedModel,
    { upstream: { id: 'sandbox', wire: 'demo' }, model: 'demo' },
  ),

  'GET /audit': query(
    'audit:read',
    'List the audit log with the names of keys, people and accounts, newest first',
    operatorAuditQuery,
    pageOf(auditItem),
    { limit: 20 },
  ),
  'GET /audit.csv': file('audit:read', 'text/csv', 'Export the audit log', auditExportQuery, { action: 'key_created' }),

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
