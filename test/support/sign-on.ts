import type { TestIssuer } from '../fakes/oidc-issuer.ts'
import { CLIENT_ID, CLIENT_SECRET } from '../fakes/oidc-issuer.ts'
import type { ConsolePerson } from './console-session.ts'
import { readSetCookie } from './set-cookie.ts'
import type { TestServer } from './start-server.ts'

/** A provider named `corp`, as the configuration of a server writes it. */
export const corpAt = (issuer: string, more = ''): string =>
  `{ name: corp, label: Corp, issuer: "${issuer}", client_id: ${CLIENT_ID}, client_secret: ${CLIENT_SECRET}, ${more} }`

/** An answer of the sign-in, which redirects. */
export interface Redirected {
  readonly status: number
  readonly location: string
  /** The problem that the page shows. */
  readonly problem: string | null
  readonly setCookies: readonly string[]
}

/** Opens an address as a browser does that follows a link: with its cookies, and it keeps those of the answer. */
export async function follow(
  server: Pick<TestServer, 'port'>,
  browser: ConsolePerson & { signOn?: string | undefined },
  address: string,
): Promise<Redirected> {
  const cookies = [browser.cookie, browser.device, browser.signOn].filter((each) => each !== undefined)
  const response = await fetch(new URL(address, `http://127.0.0.1:${server.port}`), {
    redirect: 'manual',
    headers: cookies.length === 0 ? {} : { cookie: cookies.join('; ') },
  })
  const setCookies = response.headers.getSetCookie()
  for (const line of setCookies) {
    const { name, sent } = readSetCookie(line)
    if (name.endsWith('millrace_device')) browser.device = sent
    else if (name.endsWith('millrace_sign_on')) browser.signOn = sent
    else browser.cookie = sent
  }
  const location = response.headers.get('location') ?? ''
  const problem = new URL(location, 'http://console').searchParams.get('problem')
  return { status: response.status, location, problem, setCookies }
}

/** The whole round trip. The page it ends on, or the problem. */
export async function signOn(
  server: Pick<TestServer, 'port'>,
  issuer: TestIssuer,
  browser: ConsolePerson,
  query = '',
): Promise<Redirected> {
  const begun = await follow(server, browser, `/console/sso/corp${query}`)
  if (begun.problem !== null) return begun
  const ended = await follow(server, browser, issuer.authorize(begun.location))
  if (ended.problem === null) browser.csrf = (await browser.call('GET /session')).csrf ?? undefined
  return ended
}
