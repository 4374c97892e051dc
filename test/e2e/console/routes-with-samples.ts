import type { BodyOf, ParamsOf, QueryOf, RouteName } from '../../../src/contract/console-api.ts'

/** Ids of things that are there, of one account. */
export interface Things {
  readonly account: string
  readonly key: string
  readonly request: string
  readonly window: string
  readonly session: string
  readonly person: string
  readonly code: string
}

interface Sample<Name extends RouteName> {
  readonly params?: (things: Things) => ParamsOf<Name>
  readonly query?: QueryOf<Name>
  readonly body?: BodyOf<Name>
}

const inDays = { from: '2026-01-01', to: '2026-03-01', zone: 'Europe/Berlin', step: 'day', by: 'model' } as const

/** A sane question for each route, so that none can be added without one. */
export const SAMPLES: { readonly [Name in RouteName]: Sample<Name> } = {
  'GET /session': {},
  'POST /session': { body: { email: 'nobody@example.com', password: 'wrong password' } },
  'DELETE /session': {},
  'POST /session/confirm': { body: { password: 'wrong password' } },
  'POST /invitation': { body: { code: 'AAAA-BBBB' } },
  'POST /sign-up': { body: { code: 'AAAA-BBBB', password: 'a long password' } },
  'PUT /password': { body: { current: 'wrong password', next: 'another password' } },
  'GET /sessions': {},
  'DELETE /sessions/:session': { params: ({ session }) => ({ session }) },
  'GET /audit': {},

  'GET /overview': {},
  'GET /overview/usage': { query: { zone: 'Asia/Kathmandu' } },
  'GET /keys': {},
  'POST /keys': { body: { name: 'made in the matrix', kind: 'wallet' } },
  'GET /keys/:key': { params: ({ key }) => ({ key }) },
  'PATCH /keys/:key': { params: ({ key }) => ({ key }), body: { name: 'renamed in the matrix' } },
  'POST /keys/:key/rotate': { params: ({ key }) => ({ key }), body: { grace: '1h' } },
  'POST /keys/:key/revoke': { params: ({ key }) => ({ key }) },
  'GET /wallet': {},
  'GET /wallet/statement': {},
  'GET /wallet/statement.csv': {},
  'POST /wallet/redeem': { body: { code: 'MR-AAAA-BBBB' } },
  'POST /wallet/ask': { body: { amount: '20.00', note: 'for the matrix' } },
  'GET /plan': {},
  'GET /plan/windows/:window': { params: ({ window }) => ({ window }) },
  'GET /usage': { query: inDays },
  'GET /usage.csv': { query: inDays },
  'GET /usage/refused': { query: { from: '2026-01-01', to: '2026-03-01', zone: 'Europe/Berlin', step: 'day' } },
  'GET /requests': {},
  'GET /requests/:request': { params: ({ request }) => ({ request }) },
  'GET /models': {},

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
  'GET /operate/codes': {},
  'POST /operate/codes': { body: { amount: '5.00', count: 2, note: 'matrix' } },
  'POST /operate/codes/:code/withdraw': { params: ({ code }) => ({ code }) },
  'GET /operate/plans': {},
  'GET /operate/lanes': {},
  'GET /operate/wishes': {},
  'GET /operate/requests/:request': { params: ({ request }) => ({ request }) },
  'GET /operate/audit': {},
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
