import type { MutationName, QueryName } from '../lib/route-address.ts'

const KEYS = ['GET /keys', 'GET /keys/:key', 'GET /overview'] as const
const ACCOUNTS = ['GET /operate/accounts', 'GET /operate/accounts/:account'] as const

/**
 * Which questions each act makes stale: whatever of them is on screen is asked again. Whoever signs in, up or out hands on
 * the session themselves, and forgets everything else.
 */
const INVALIDATED_QUERIES: Readonly<Record<MutationName, readonly QueryName[]>> = {
  'POST /session': [],
  'DELETE /session': [],
  'POST /invitation': [],
  'POST /sign-up': [],
  'POST /session/confirm': ['GET /session'],
  'PUT /password': ['GET /session', 'GET /sessions'],
  'DELETE /sessions/:session': ['GET /sessions'],

  'POST /keys': KEYS,
  'PATCH /keys/:key': KEYS,
  'POST /keys/:key/rotate': KEYS,
  'POST /keys/:key/revoke': KEYS,
  'POST /wallet/redeem': ['GET /wallet', 'GET /wallet/statement', 'GET /overview'],
  'POST /wallet/ask': ['GET /wallet'],

  'POST /operate/accounts': ACCOUNTS,
  'POST /operate/accounts/:account/credit': [...ACCOUNTS, 'GET /operate/wishes'],
  'POST /operate/accounts/:account/status': ACCOUNTS,
  'POST /operate/accounts/:account/plan': [...ACCOUNTS, 'GET /operate/plans'],
  'POST /operate/accounts/:account/invite': [],
  'POST /operate/people/:person/disable': ['GET /operate/accounts/:account'],
  'POST /operate/people/:person/enable': ['GET /operate/accounts/:account'],
  'POST /operate/codes': ['GET /operate/codes'],
  'POST /operate/codes/:code/withdraw': ['GET /operate/codes'],
}

/** Whatever somebody who is signed in does leaves a line in these. */
const AUDIT_QUERIES = ['GET /audit', 'GET /operate/audit'] as const

/** A turn of the playground spends money and is in no trail; lists of requests follow by themselves. */
const AFTER_A_TURN = ['GET /overview'] as const

/** Without a session, or with these one begins or ends: asked without one, a trail would be refused. */
const SESSION_MUTATIONS: readonly MutationName[] = ['POST /session', 'DELETE /session', 'POST /invitation', 'POST /sign-up']

export function queriesInvalidatedBy(done: MutationName | 'turn'): readonly QueryName[] {
  if (done === 'turn') return AFTER_A_TURN
  return SESSION_MUTATIONS.includes(done) ? INVALIDATED_QUERIES[done] : [...INVALIDATED_QUERIES[done], ...AUDIT_QUERIES]
}
