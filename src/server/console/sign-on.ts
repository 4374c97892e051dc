import type { SignOnProblem } from '../../contract/people.ts'
import type { RequestContext } from '../request-context.ts'
import { endAnswer, writeHead } from '../respond.ts'
import { refuse } from '../route-replies.ts'
import type { EdgeConsole } from '../services.ts'
import { API_HEADERS } from '../site-files.ts'
import { sendRefusal } from './errors.ts'
import { deviceCookie, findSignedIn, readConsoleRequest, readCookie, sessionCookie, signOnCookie } from './session.ts'
import type { Site } from './site.ts'

/** `sso/<provider>` begins a sign-in, and the provider sends the browser back to `sso/<provider>/callback`. */
const PATH = /^sso\/([a-z0-9-]{1,40})(\/callback)?$/

export const isSignOn = (path: string): boolean => PATH.test(path)

/** The pages of the console that the browser is sent to. */
const SIGN_IN = '/sign-in'
const CONFIRMED = '/confirmed'

/** A provider's answer is shorter than this; Node bounds the whole head as well. */
const QUERY_LENGTH_MAX = 8_192

/** Sends the browser to a provider, or from there to a page of the console. */
export async function serveSignOn(
  context: RequestContext,
  services: EdgeConsole,
  site: Site,
  path: string,
): Promise<void> {
  const { request } = context
  if (request.method !== 'GET') return sendRefusal(context, refuse('method_not_allowed', 'Sign-ins begin with GET.'))
  if (!site.isPrivate) {
    const message = 'The sign-in would be sent unencrypted. Open the console over https, or on the machine itself.'
    return sendRefusal(context, refuse('https_needed', message))
  }
  const [, name = '', isReturn] = PATH.exec(path) ?? []
  const query = queryOf(context)
  if (isReturn === undefined) await begin(context, services, { site, name, query })
  else await finish(context, services, { site, name, query })
}

interface SignOnRequest {
  readonly site: Site
  readonly name: string
  readonly query: URLSearchParams
}

async function begin(context: RequestContext, services: EdgeConsole, { site, name, query }: SignOnRequest) {
  const signedIn = await findSignedIn(context, services.sessions, site)
  const confirms = query.has('confirm')
  if (confirms && signedIn === undefined) return redirect(context, SIGN_IN)
  const begun = await services.signOn.begin({
    name,
    redirectUri: `${services.site.publicUrl ?? site.origin}/console/sso/${name}/callback`,
    next: pageOf(query.get('next')),
    session: confirms ? signedIn?.session : undefined,
  })
  if (begun.kind === 'refused') return redirect(context, problemPage(begun.problem, confirms))
  sendTo(context, begun.url.href, [signOnCookie(begun.sealed, site)])
}

async function finish(context: RequestContext, services: EdgeConsole, { site, name, query }: SignOnRequest) {
  // Read before anything is awaited: a broken connection has no address.
  const { address, agent, deviceTokens } = readConsoleRequest(context, site)
  const sealed = readCookie('sign_on', context.request.headers.cookie, site)
  const signedIn = await findSignedIn(context, services.sessions, site)
  const finished = await services.signOn.finish({
    ...{ name, query, sealed, session: signedIn?.session },
    client: { address, agent, deviceTokens },
  })
  const over = signOnCookie(undefined, site)
  switch (finished.kind) {
    case 'refused':
      context.log.code = `sign_on_${finished.problem}`
      return redirect(context, problemPage(finished.problem, finished.confirms), [over])
    case 'confirmed':
      return redirect(context, CONFIRMED, [over])
    case 'signed-in': {
      const { person, next } = finished
      const device = deviceCookie(services.devices.remember(deviceTokens, person), site)
      return redirect(context, next, [over, sessionCookie(finished.signedIn.secret, site), device])
    }
  }
}

/** A confirmation has a window of its own, which shows the problem. */
const problemPage = (problem: SignOnProblem, confirms: boolean): string =>
  `${confirms ? CONFIRMED : SIGN_IN}?problem=${problem}`

/** The first page for everything that is not a path of the console. */
function pageOf(next: string | null): string {
  const base = 'http://console'
  if (next === null || next.length > 500 || !/^\/(?![/\\])/.test(next) || !URL.canParse(`${base}/console${next}`))
    return '/'
  const { origin, pathname, search, hash } = new URL(`${base}/console${next}`)
  return origin === base && pathname.startsWith('/console/')
    ? `${pathname.slice('/console'.length)}${search}${hash}`
    : '/'
}

function queryOf({ request: { url = '' } }: RequestContext): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1, start + 1 + QUERY_LENGTH_MAX))
}

const redirect = (context: RequestContext, page: string, cookies: readonly string[] = []): void =>
  sendTo(context, `${context.edge.options.pathPrefix ?? ''}/console${page}`, cookies)

function sendTo(context: RequestContext, location: string, cookies: readonly string[]): void {
  writeHead(context, 303, { ...API_HEADERS, location, 'set-cookie': cookies, 'content-length': '0' })
  endAnswer(context, '')
}
