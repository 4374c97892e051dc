import type { BodyOf, QueryOf, RouteName } from '../../../src/contract/console-api.ts'
import type { ParamsOf } from '../../../src/contract/values.ts'

/** Ids of things that are there, of one account. */
export interface Things {
  readonly account: string
  readonly key: string
  readonly request: string
  readonly window: string
  readonly session: string
  readonly person: string
  readonly code: string
  readonly payment: string
  readonly purchase: string
  readonly webhook: string
  readonly delivery: string
  readonly operatorWebhook: string
  readonly operatorDelivery: string
  readonly team: string
  readonly run: string
  readonly conversation: string
}

interface Sample<Name extends RouteName> {
  readonly params?: (things: Things) => ParamsOf<Name>
  readonly query?: QueryOf<Name>
  readonly body?: BodyOf<Name>
}

const inDays = { from: '2026-01-01', to: '2026-03-01', zone: 'Europe/Berlin', step: 'day', by: 'model' } as const

const servedDays = { from: '2026-01-01', to: '2026-03-01', zone: 'Europe/Berlin', step: 'day' } as const
const PASSKEY_ANSWER = {
  ...{ id: 'AAAA', client_data: 'AAAA', authenticator_data: 'AAAA', signature: 'AAAA', user_handle: null },
}

/** A sane question for each route, so that none can be added without one. */
export const SAMPLES: { readonly [Name in RouteName]: Sample<Name> } = {
  'GET /session': {},
  'POST /session': { body: { email: 'nobody@example.com', password: 'wrong password' } },
  'DELETE /session': {},
  'POST /session/confirm': { body: { password: 'wrong password' } },
  'POST /session/factor': { body: { code: '000000' } },
  'POST /session/challenge': {},
  'POST /session/passkey': { body: PASSKEY_ANSWER },
  'POST /session/confirm/challenge': {},
  'POST /session/confirm/passkey': { body: PASSKEY_ANSWER },
  'POST /invitation': { body: { code: 'AAAA-BBBB' } },
  'POST /sign-up': { body: { code: 'AAAA-BBBB', password: 'a long password' } },
  'PUT /password': { body: { current: 'wrong password', next: 'another password' } },
  'GET /sessions': {},
  'DELETE /sessions/:session': { params: ({ session }) => ({ session }) },
  'GET /factors': {},
  'POST /factors/totp': {},
  'POST /factors/totp/confirm': { body: { code: '000000' } },
  'POST /factors/totp/remove': {},
  'POST /factors/recovery-codes': {},
  'POST /passkeys/challenge': {},
  'POST /passkeys': { body: { name: 'matrix', id: 'AAAA', client_data: 'AAAA', attestation: 'AAAA', transports: [] } },
  'PATCH /passkeys/:passkey': { params: ({ session }) => ({ passkey: session }), body: { name: 'matrix' } },
  'POST /passkeys/:passkey/remove': { params: ({ session }) => ({ passkey: session }) },
  'GET /audit': {},

  'GET /second-factor': {},
  'PUT /second-factor': { body: { required: false } },

  'GET /overview': {},
  'GET /overview/usage': { query: { zone: 'Asia/Kathmandu' } },
  'GET /keys': {},
  'POST /keys': { body: { name: 'made in the matrix', kind: 'wallet' } },
  'GET /keys/:key': { params: ({ key }) => ({ key }) },
  'PATCH /keys/:key': { params: ({ key }) => ({ key }), body: { name: 'renamed in the matrix' } },
  'POST /keys/:key/rotate': { params: ({ key }) => ({ key }), body: { grace: '1h' } },
  'POST /keys/:key/revoke': { params: ({ key }) => ({ key }) },
  'POST /keys/:key/raise': { params: ({ key }) => ({ key }), body: { cap: 'day', to: '9.00', until: '1d' } },
  'GET /new-key-caps': {},
  'PATCH /new-key-caps': { body: { day: '9.00' } },
  'GET /teams': {},
  'POST /teams': { body: { name: 'made in the matrix', caps: { day: '5.00' } } },
  'GET /runs': {},
  'GET /runs/:run': { params: ({ run }) => ({ run }) },
  'GET /teams/:team': { params: ({ team }) => ({ team }) },
  'PATCH /teams/:team': { params: ({ team }) => ({ team }), body: { name: 'renamed in the matrix' } },
  'POST /teams/:team/raise': { params: ({ team }) => ({ team }), body: { cap: 'day', to: '9.00', until: '1d' } },
  'GET /wallet': {},
  'GET /wallet/statement': {},
  'GET /wallet/statement.csv': {},
  'POST /wallet/redeem': { body: { code: 'MR-AAAA-BBBB' } },
  'POST /wallet/ask': { body: { amount: '20.00', note: 'for the matrix' } },
  'GET /card': {},
  'POST /card/top-up': { body: { amount: '20.00', save_card: true } },
  'PUT /card/automatic': { body: { on: true, below: '5.00', add: '10.00', month_max: '50.00' } },
  'DELETE /card': {},
  'GET /payments': {},
  'GET /payments/:payment': { params: ({ payment }) => ({ payment }) },
  'GET /plans/sold': {},
  'POST /plans/buy': { body: { plan: 'pro' } },
  'PUT /plans/:purchase/renewal': { params: ({ purchase }) => ({ purchase }), body: { renews: false } },
  'GET /invoice': { query: { month: '2026-02', zone: 'Asia/Kathmandu' } },
  'GET /invoice.csv': { query: { from: '2026-01-01', to: '2026-02-01' } },
  'GET /plan': {},
  'GET /plan/windows/:window': { params: ({ window }) => ({ window }) },
  'GET /usage': { query: inDays },
  'GET /usage.csv': { query: inDays },
  'GET /usage/refused': { query: { from: '2026-01-01', to: '2026-03-01', zone: 'Europe/Berlin', step: 'day' } },
  'GET /requests': {},
  'GET /requests/:request': { params: ({ request }) => ({ request }) },
  'GET /members': {},
  'POST /members/invite': { body: { email: 'colleague@example.com', role: 'viewer' } },
  'PATCH /members/:person': { params: ({ person }) => ({ person }), body: { role: 'viewer' } },
  'POST /members/:person/remove': { params: ({ person }) => ({ person }) },
  'GET /members/:person': { params: ({ person }) => ({ person }) },
  'PATCH /members/:person/caps': { params: ({ person }) => ({ person }), body: { day: '5.00' } },
  'POST /members/:person/raise': {
    params: ({ person }) => ({ person }),
    body: { cap: 'day', to: '9.00', until: '1d' },
  },
  'GET /models': {},
  'GET /conversations': {},
  'POST /conversations': { body: { title: 'matrix', content: '{}' } },
  'GET /conversations/:conversation': { params: ({ conversation }) => ({ conversation }) },
  'PUT /conversations/:conversation': {
    params: ({ conversation }) => ({ conversation }),
    body: { title: 'matrix', content: '{}' },
  },
  'DELETE /conversations/:conversation': { params: ({ conversation }) => ({ conversation }) },
  'GET /notices': {},
  'GET /notices/unread': {},
  'POST /notices/read': { body: {} },
  'GET /notices/preferences': {},
  'PATCH /notices/preferences': { body: { language: 'en' } },
  'GET /notices/settings': {},
  'PUT /notices/settings': { body: { low_balance: '0.01' } },
  'GET /webhooks': {},
  'POST /webhooks': { body: { url: 'https://hooks.invalid/matrix', events: ['webhook.off'] } },
  'PATCH /webhooks/:webhook': { params: ({ webhook }) => ({ webhook }), body: { events: ['webhook.off'] } },
  'POST /webhooks/:webhook/rotate': { params: ({ webhook }) => ({ webhook }) },
  'POST /webhooks/:webhook/test': { params: ({ webhook }) => ({ webhook }) },
  'GET /webhooks/:webhook/deliveries': { params: ({ webhook }) => ({ webhook }) },
  'POST /webhooks/:webhook/deliveries/:delivery/resend': {
    params: ({ webhook, delivery }) => ({ webhook, delivery }),
  },
  'DELETE /webhooks/:webhook': { params: ({ webhook }) => ({ webhook }) },

  'GET /operate/overview': { query: servedDays },
  'GET /operate/lanes/calls': {},
  'GET /operate/requests': { query: { status: 'ok', min_charge: '0', from: '2026-01-01', zone: 'Asia/Kathmandu' } },
  'GET /operate/requests.csv': {},
  'GET /operate/audit.csv': { query: { actor: 'example', action: 'key_created' } },
  'GET /operate/accounts/:account/keys': { params: ({ account }) => ({ account }) },
  'GET /operate/accounts/:account/usage': { params: ({ account }) => ({ account }), query: inDays },
  'GET /operate/accounts/:account/usage.csv': { params: ({ account }) => ({ account }), query: inDays },
  'GET /operate/accounts/:account/statement': { params: ({ account }) => ({ account }) },
  'GET /operate/accounts/:account/statement.csv': { params: ({ account }) => ({ account }) },
  'GET /operate/accounts/:account/invoice': { params: ({ account }) => ({ account }) },
  'GET /operate/accounts/:account/invoice.csv': { params: ({ account }) => ({ account }), query: { month: '2026-02' } },
  'GET /operate/accounts': {},
  'POST /operate/accounts': { body: { email: 'matrix@example.com' } },
  'GET /operate/accounts/:account': { params: ({ account }) => ({ account }) },
  'POST /operate/accounts/:account/credit': {
    params: ({ account }) => ({ account }),
    body: { amount: '1.00', reason: 'matrix', ref: 'matrix' },
  },
  'POST /operate/accounts/:account/status': { params: ({ account }) => ({ account }), body: { status: 'active' } },
  'POST /operate/accounts/:account/plan': { params: ({ account }) => ({ account }), body: { plan: 'pro' } },
  'POST /operate/accounts/:account/invite': {
    params: ({ account }) => ({ account }),
    body: { role: 'owner', email: 'guest@example.com' },
  },
  'POST /operate/people/:person/disable': { params: ({ person }) => ({ person }) },
  'POST /operate/people/:person/enable': { params: ({ person }) => ({ person }) },
  'POST /operate/people/:person/remove-factors': { params: ({ person }) => ({ person }) },
  'GET /operate/codes': {},
  'POST /operate/codes': { body: { amount: '5.00', count: 2, note: 'matrix' } },
  'POST /operate/codes/:code/withdraw': { params: ({ code }) => ({ code }) },
  'GET /operate/plans': {},
  'GET /operate/lanes': {},
  'GET /operate/managed': {},
  'POST /operate/managed': { body: { upstreams: [{ id: 'matrix', wire: 'demo' }] } },
  'GET /operate/managed/history': { query: { kind: 'upstream', name: 'matrix' } },
  'GET /operate/managed.yaml': {},
  'POST /operate/managed/preview': { body: { model: 'swift', price: { input: '1', output: '2' } } },
  'POST /operate/managed/models': { body: { upstream: { id: 'matrix', wire: 'demo' } } },
  'POST /operate/managed/test': { body: { upstream: { id: 'matrix', wire: 'demo' }, model: 'demo-fast' } },
  'GET /operate/wishes': {},
  'GET /operate/payments': { query: { owed: 'true' } },
  'GET /operate/requests/:request': { params: ({ request }) => ({ request }) },
  'GET /operate/audit': {},
  'GET /operate/webhooks': {},
  'POST /operate/webhooks': { body: { url: 'https://hooks.invalid/matrix', events: ['webhook.off'] } },
  'PATCH /operate/webhooks/:webhook': {
    params: ({ operatorWebhook: webhook }) => ({ webhook }),
    body: { events: ['webhook.off'] },
  },
  'POST /operate/webhooks/:webhook/rotate': { params: ({ operatorWebhook: webhook }) => ({ webhook }) },
  'POST /operate/webhooks/:webhook/test': { params: ({ operatorWebhook: webhook }) => ({ webhook }) },
  'GET /operate/webhooks/:webhook/deliveries': { params: ({ operatorWebhook: webhook }) => ({ webhook }) },
  'POST /operate/webhooks/:webhook/deliveries/:delivery/resend': {
    params: ({ operatorWebhook: webhook, operatorDelivery: delivery }) => ({ webhook, delivery }),
  },
  'DELETE /operate/webhooks/:webhook': { params: ({ operatorWebhook: webhook }) => ({ webhook }) },
  'GET /operate/system': {},
}

export const ROUTE_NAMES = Object.keys(SAMPLES) as RouteName[]

export const sampleOf = (name: RouteName, things: Things) => {
  const { params, query, body } = SAMPLES[name] as Sample<RouteName>
  return {
    ...(params !== undefined && { params: params(things) as Record<string, string> }),
    ...(query !== undefined && { query: query as Record<string, string> }),
    ...(body !== undefined && { body }),
  }
}
