import type { Session } from '../../account/find-session.ts'
import type { TurnEndpoint } from '../../turn/read-turn.ts'
import { admitCaller } from '../authenticate.ts'
import type { Exchange } from '../exchange.ts'
import { postTurnAs } from '../post-turn.ts'
import { sendProblem } from '../send-problem.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { findSignedIn } from './find-signed-in.ts'
import { refuseConsole } from './refuse-console.ts'
import { isCsrfToken, isFromOwnPage } from './same-site.ts'
import type { Site } from './site.ts'

/** A map, because an object has more names than were given to it. */
const ENDPOINTS: ReadonlyMap<string, TurnEndpoint> = new Map([
  ['chat/completions', 'chat'],
  ['responses', 'responses'],
])

interface Played {
  readonly deps: ConsoleDeps
  readonly site: Site
  readonly endpoint: string
}

/**
 * A turn like any other, asked by a session instead of a key: the account's own playground key pays, which no program can
 * hold. From here on nothing differs from what a client with a key meets.
 */
export async function servePlayground(exchange: Exchange, { deps, site, endpoint: named }: Played): Promise<void> {
  const { request } = exchange
  const endpoint = ENDPOINTS.get(named)
  if (endpoint === undefined) return refuseConsole(exchange, 'not_found', 'The playground has no such endpoint.')
  if (request.method !== 'POST') return refuseConsole(exchange, 'method_not_allowed', 'Use POST.')
  if (!isFromOwnPage(request.headers, site)) {
    return refuseConsole(exchange, 'other_site', 'This came from another site than this console. Nothing was done.')
  }
  const account = await findPayer(exchange, deps, site)
  if (account === undefined) return
  const kind = request.headers['x-millrace-pays'] === 'builder' ? 'builder' : 'wallet'
  const who = admitCaller(exchange, await deps.findPlayer(account, kind))
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  await postTurnAs(exchange, endpoint, who.caller)
}

/** Whose account it is, by the session; undefined where that was refused. */
async function findPayer(exchange: Exchange, deps: ConsoleDeps, site: Site): Promise<Session['account']> {
  const { headers } = exchange.request
  const signedIn = await findSignedIn(exchange.request, deps, site)
  if (signedIn === undefined) {
    refuseConsole(exchange, 'session_ended', 'You are not signed in any more. Sign in again.')
    return undefined
  }
  if (!isCsrfToken(headers['x-csrf-token'], signedIn.secret)) {
    refuseConsole(exchange, 'other_site', 'This page is of an older session. Load it again.')
    return undefined
  }
  const { account } = signedIn.session
  if (account === undefined) {
    refuseConsole(exchange, 'no_account', 'You have no account of your own here: keys and money belong to accounts.')
    return undefined
  }
  return account
}
