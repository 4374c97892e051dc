import type { IncomingMessage } from 'node:http'
import type { SignedIn } from '../../account/open-session.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { readSessionCookie } from './session-cookie.ts'
import type { Site } from './site.ts'

/** Whose browser this is; undefined for nobody's, and for a session that is over. */
export async function findSignedIn(
  request: IncomingMessage,
  { findSession }: Pick<ConsoleDeps, 'findSession'>,
  site: Site,
): Promise<SignedIn | undefined> {
  const secret = readSessionCookie(request.headers.cookie, site)
  const session = secret === undefined ? undefined : await findSession(secret)
  return secret === undefined || session === undefined ? undefined : { secret, session }
}
