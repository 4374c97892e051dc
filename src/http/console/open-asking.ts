import type { Exchange } from '../exchange.ts'
import type { Asking } from './api/ask.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { readDeviceCookie, readSessionCookie } from './session-cookie.ts'
import type { Site } from './site.ts'

const READING = new Set(['GET', 'HEAD'])

export const isChange = ({ request }: Exchange): boolean => !READING.has(request.method ?? 'GET')

/**
 * Whoever sends a request, as far as its head tells: read before anything is waited for, because a connection that breaks
 * meanwhile has no address any more, by which tries could be counted.
 */
export function openAsking(exchange: Exchange, site: Site): Omit<Asking, 'signedIn'> {
  const { request, edge, requestId, log } = exchange
  return {
    ...{ requestId, site, log },
    address: edge.findClientAddress(request),
    agent: String(request.headers['user-agent'] ?? ''),
    changes: isChange(exchange),
    csrfToken: request.headers['x-csrf-token'],
    deviceTokens: readDeviceCookie(request.headers.cookie, site),
  }
}

/** Whose browser this is; undefined for nobody's, and for a session that is over. */
export async function findSignedIn(
  { request }: Exchange,
  { findSession }: Pick<ConsoleDeps, 'findSession'>,
  site: Site,
): Promise<Asking['signedIn']> {
  const secret = readSessionCookie(request.headers.cookie, site)
  const session = secret === undefined ? undefined : await findSession(secret)
  return secret === undefined || session === undefined ? undefined : { secret, session }
}
