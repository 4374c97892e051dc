import { afterAll, beforeAll, expect, it } from 'vitest'
import { ADMIN_ROUTES, type AdminRouteName } from '../../../src/contract/admin-api.ts'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import { PROBLEMS } from '../../../src/model/problem.ts'
import { REFUSAL_STATUSES } from '../../../src/server/route-replies.ts'
import { startIssuer, type TestIssuer } from '../../fakes/oidc-issuer.ts'
import { type StripeStandIn, startStripe } from '../../program/stripe.mjs'
import { AUDIENCE } from '../../support/job-keys.ts'
import { corpAt } from '../../support/sign-on.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type Caller, type Cast, castCallers } from './callers.ts'
import { ALL_ROUTES, type MatrixRoute } from './routes.ts'
import { type Expected, expectedOf, statedNeed } from './rules.ts'
import { freshSample, makeProps, PROMPT, type Props, type Sample, sampleFor } from './samples.ts'
import { type Came, closeConnections, send } from './send.ts'

let issuer: TestIssuer
let stripe: StripeStandIn
let server: TestServer
let cast: Cast
let props: Props
/** What callers prove themselves with. */
let secrets: readonly string[] = []

const configFor = (jobsKey?: string): string => `${PLANS_CONFIG}
server: { trust_proxy: [127.0.0.0/8] }
limits: { keys_per_account: 5000, address: { refused_per_minute: off } }
sign_in: { oidc: [${corpAt(issuer.url)}] }
${stripe.config()}
${jobsKey === undefined ? '' : keyless(jobsKey)}`

const keyless = (key: string): string => `keyless:
  issuers:
    - name: forge
      issuer: "${issuer.url}"
      audience: ${AUDIENCE}
      rules: [{ name: main, key: ${key}, match: { repository: acme/mill }, run: { claims: [run_id], max: "1.00" } }]
`

beforeAll(async () => {
  issuer = await startIssuer()
  stripe = await startStripe()
  server = await startServer({ config: configFor() })
  cast = await castCallers(server, { issuer, configFor })
  props = await makeProps(server, cast)
  secrets = cast.callers.flatMap((caller) => {
    const { authorization = '', cookie = '' } = caller.headers(false)
    return [authorization, cookie].flatMap((value) => /\w{40,}$/.exec(value) ?? [])
  })
  // The account of the examples.
  await server.operate('accounts.create', { email: 'ann@example.com' })
  await server.operate('wallet.credit', { account: 'ann@example.com', amount: '20', reason: 'matrix', ref: 'matrix' })
}, 120_000)

afterAll(async () => {
  printCoverage()
  await expectBalancedLedger(server)
  closeConnections()
  await server.close()
  await stripe.close()
  await issuer.close()
})

/** Of a console session: what is refused to the caller on every route. */
const REFUSED_TO_CALLER = new Set([
  ...['session_ended', 'operators_only', 'no_account', 'role_too_low', 'other_site', 'https_needed'],
  ...['confirm_password', 'second_factor_needed', 'account_suspended', 'account_closed'],
])

const cells = new Map<string, number>()
const outcomes = new Map<string, number>()
const answered = new Set<string>()
const nameOf = ({ surface, method, path }: MatrixRoute): string => `${surface} ${method} ${path}`
const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

function judgeAllowed(route: MatrixRoute, { status, code, text, headers }: Came): void {
  const { surface, method, path } = route
  const isJson = headers['content-type'] === 'application/json'
  if (surface === 'admin') {
    expect(status, text).toBe(200)
    const { answer, file } = ADMIN_ROUTES[`${method} ${path}` as AdminRouteName]
    answer.parse(file === undefined ? JSON.parse(text) : text)
  } else if (surface === 'console') {
    expect(REFUSED_TO_CALLER.has(code), text).toBe(false)
    if (method === 'GET') expect(status, text).toBe(200)
    if (status === 200 && isJson) CONSOLE_API[`${method} ${path}` as RouteName].answer.parse(JSON.parse(text))
  } else if (path.endsWith('/cancel')) {
    // What has ended cannot be cancelled.
    expect(code, text).toBe('invalid_value')
  } else expect(ALLOWED_STATUSES[surface], text).toContain(status)
}

/** The wallet of a playground may be empty. */
const ALLOWED_STATUSES: Readonly<Record<'server' | 'scim' | 'playground' | 'sign-on', readonly number[]>> = {
  server: [200, 308],
  scim: [200, 201, 204],
  playground: [200, 402],
  'sign-on': [303],
}

const PROBLEM_STATUSES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(PROBLEMS).map(([name, { status }]) => [name, status]),
)
const CONSOLE_STATUSES: Readonly<Record<string, number>> = REFUSAL_STATUSES

function judgeRefused({ surface }: MatrixRoute, expected: string, { status, code, text }: Came): void {
  if (expected === 'refused by its own proof') expect(status, text).toBe(400)
  else if (surface === 'scim') expect(String(status), text).toBe(expected.slice(0, 3))
  else {
    const wanted = expected.split(' ').at(-1)!
    const statuses = surface === 'console' || surface === 'playground' ? CONSOLE_STATUSES : PROBLEM_STATUSES
    expect([status, code], text).toEqual([statuses[wanted], wanted])
  }
}

/** The same words as for ids that were never there. */
async function judgeAbsent(caller: Caller, route: MatrixRoute, sample: Sample, came: Came): Promise<void> {
  expect(came.status, came.text).toBe(404)
  const ids = Object.fromEntries(Object.entries(sample.ids).map(([name, id]) => [name, `${id.slice(0, -4)}0000`]))
  const never = await send(server.port, caller, route, { ...sample, ids })
  const words = (text: string, named: Sample['ids']) =>
    Object.values(named)
      .reduce((rest, id) => rest.replaceAll(id, '…'), text)
      .replace(/req_[0-9a-z]+/g, '…')
  expect(words(came.text, sample.ids)).toBe(words(never.text, ids))
}

/** What a member is not shown of their account either. */
const HIDDEN_FROM_MEMBERS = ['canary-key', 'canary-conversation', PROMPT]

/** Whether the answer may contain things of the account at all. */
function marksHiddenFrom(caller: Caller, route: MatrixRoute, expected: Expected): readonly string[] {
  if (expected !== 'allowed') return props.marks
  const { api, admin, directory, session } = caller
  if (route.surface === 'admin') return admin.includes('scim') && directory !== 'ours' ? props.marks : [PROMPT]
  if (route.surface === 'scim') return directory === 'ours' ? [PROMPT] : props.marks
  if (route.surface === 'server')
    return typeof api === 'string' || api.account === 'other' ? props.marks : api.reads === 'own' ? [PROMPT] : []
  // Operators see everything but contents.
  if (session?.role === 'operator') return [PROMPT]
  if (session?.account === 'ours' && session.role !== 'member') return []
  return session?.account === 'ours' ? HIDDEN_FROM_MEMBERS : props.marks
}

/** A secret that an answer shows once: keys, codes, links, what an authenticator or a webhook is given. */
const SECRET = /mra_\w{49}|mr_(?:wallet|builder|job)_\w{49}|MR(?:-[0-9A-Z]{5}){5}|code=[0-9A-Z-]{29}|whsec_|otpauth:/
const shownBy = new Map<string, Set<string>>()

/** None that was made before is in any answer, and nothing that one is found by. */
function judgeSecrets(route: MatrixRoute, { said, text }: Came): void {
  for (const secret of secrets) if (!said.includes(secret)) expect(text, nameOf(route)).not.toContain(secret)
  if (route.surface === 'server') return
  expect(text).not.toMatch(/"(password|digest|pepper)":|\$argon2/)
  if (!SECRET.test(text)) return
  const names = shownBy.get(route.surface) ?? new Set()
  shownBy.set(route.surface, names.add(`${route.method} ${route.path}`))
}

async function play(caller: Caller, route: MatrixRoute): Promise<void> {
  const expected = expectedOf(caller, route)
  const directoryKey = String(caller.headers(false).authorization ?? '').slice('Bearer '.length)
  const sample =
    expected === 'allowed'
      ? await freshSample(server, route, props, cast, caller.directory && directoryKey)
      : sampleFor(route, props)
  const came = await send(server.port, caller, route, sample)
  count(cells, route.surface)
  count(outcomes, expected)
  expect(came.status, came.text).toBeLessThan(500)
  expect(came.headers['x-request-id']).toMatch(/^req_/)
  expect(came.headers['access-control-allow-origin']).toBeUndefined()
  if (expected === 'allowed') judgeAllowed(route, came)
  else if (expected === 'absent') await judgeAbsent(caller, route, sample, came)
  else judgeRefused(route, expected, came)
  if (came.status < 400) answered.add(nameOf(route))
  judgeSecrets(route, came)
  for (const mark of marksHiddenFrom(caller, route, expected)) {
    if (!came.said.includes(mark)) expect(came.text, `shows ${mark}`).not.toContain(mark)
  }
}

/** Beside the management API all scopes are the same: one that is played there stands for the others. */
const isPlayed = ({ admin, directory }: Caller, { surface }: MatrixRoute): boolean =>
  surface === 'admin' ||
  surface === 'scim' ||
  directory !== undefined ||
  typeof admin === 'string' ||
  admin[0] === 'admin'

const PLAYED = ALL_ROUTES.filter(({ method }) => method !== '*')

it.each(ALL_ROUTES.map((route) => [nameOf(route), route] as const))(
  '%s has a rule, which is its contract',
  (_, route) => {
    const need = statedNeed(route)
    expect(need, 'add a rule to test/e2e/security/rules.ts').toBeDefined()
    if (route.contract !== undefined) expect(need).toBe(route.contract)
  },
)

it.each(PLAYED.map((route) => [nameOf(route), route] as const))(
  '%s answers each caller as the rules say',
  async (_, route) => {
    for (const caller of cast.callers.filter((each) => isPlayed(each, route))) {
      await play(caller, route).catch((error: Error) => {
        error.message = `${caller.name}, ${expectedOf(caller, route)} expected: ${error.message}`
        throw error
      })
    }
  },
  60_000,
)

it('every query was answered to a caller, and every kind of refusal was met', () => {
  const reads = PLAYED.filter(({ method }) => method === 'GET').map(nameOf)
  expect(reads.filter((name) => !answered.has(name))).toEqual([])
  const met = [...outcomes.keys()].map((name) => name.replace(/^\d+ /, ''))
  const rare = ['run_required', 'key_address_not_allowed', 'insufficient_scope', 'browser_not_allowed', 'absent', '403']
  expect([...REFUSED_TO_CALLER, ...rare].filter((code) => !met.includes(code))).toEqual([
    ...['https_needed', 'account_closed'],
  ])
})

it('secrets are in the answers that create them, and in no other', () => {
  expect([...(shownBy.get('admin') ?? [])].sort()).toEqual([
    ...['POST /admin-keys', 'POST /codes', 'POST /keys', 'POST /keys/:key/rotate', 'POST /people/invitations'],
    ...['POST /webhooks', 'POST /webhooks/:webhook/rotate'],
  ])
  expect([...(shownBy.get('console') ?? [])].sort()).toEqual([
    ...['POST /factors/totp', 'POST /keys', 'POST /members/invite', 'POST /operate/accounts/:account/invite'],
    ...['POST /operate/codes', 'POST /operate/webhooks', 'POST /webhooks'],
  ])
  expect(['scim', 'playground', 'sign-on'].filter((surface) => shownBy.has(surface))).toEqual([])
})

function printCoverage(): void {
  const table = (counts: Map<string, number>) => [...counts].map(([name, times]) => `${name} ${times}`).join(', ')
  const total = [...cells.values()].reduce((sum, each) => sum + each, 0)
  console.log(`security matrix: ${PLAYED.length} routes, ${cast.callers.length} kinds of caller, ${total} cells`)
  console.log(`  by surface: ${table(cells)}\n  by outcome: ${table(outcomes)}`)
}
