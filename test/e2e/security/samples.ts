import { ADMIN_ROUTES, type AdminRouteName } from '../../../src/contract/admin-api.ts'
import type { RouteName } from '../../../src/contract/console-api.ts'
import { createAdminKey } from '../../support/admin-api.ts'
import { signUp } from '../../support/console-session.ts'
import { sendToScim } from '../../support/scim.ts'
import { streamResponse } from '../../support/send-responses.ts'
import type { TestServer } from '../../support/start-server.ts'
import { storePayment } from '../../support/stored-rows.ts'
import { sampleOf, type Things } from '../console/routes-with-samples.ts'
import type { Cast } from './callers.ts'
import type { MatrixRoute } from './routes.ts'

/** What is sent to a route. */
export interface Sample {
  readonly ids: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Words that only what belongs to the account has. Who may not read it is shown none of them. */
export const PROMPT = 'canary-of-a-prompt'
const MARKS = ['canary-', PROMPT]

/** Things of the account, for each route that names one. */
export interface Props {
  readonly things: Things
  readonly response: string
  readonly user: string
  readonly group: string
  readonly marks: readonly string[]
}

export const RUN = 'canary-run'

export async function makeProps(server: TestServer, { ours, owner, operator }: Cast): Promise<Props> {
  const { id: response } = await streamResponse(server, ours, { input: PROMPT }, { headers: { 'x-millrace-run': RUN } })
  const { key: named } = await owner.call('POST /keys', { body: { name: 'canary-key', kind: 'wallet' } })
  const { items: requests } = await owner.call('GET /requests')
  const builder = await ours.createKey({ kind: 'builder' })
  await streamResponse(server, builder, {})
  const { windows } = await owner.call('GET /plan')
  const { items: sessions } = await owner.call('GET /sessions')
  const { person } = await owner.call('GET /session')
  const team = await owner.call('POST /teams', { body: { name: 'canary-team', caps: { day: '5.00' } } })
  const codes = await operator.call('POST /operate/codes', { body: { amount: '1.00', count: 1, note: '' } })
  const hook = { url: 'https://canary-hooks.invalid/', events: ['webhook.off' as const] }
  const { webhook } = await owner.call('POST /webhooks', { body: hook })
  const delivery = await owner.call('POST /webhooks/:webhook/test', { params: { webhook: webhook.id } })
  const { webhook: theirs } = await operator.call('POST /operate/webhooks', { body: hook })
  const sent = await operator.call('POST /operate/webhooks/:webhook/test', { params: { webhook: theirs.id } })
  const saved = { title: 'canary-conversation', content: JSON.stringify({ said: PROMPT }) }
  const things: Things = {
    account: ours.id,
    key: named.id,
    request: requests.at(-1)!.id,
    window: windows.find(({ opened }) => opened)!.id!,
    session: sessions[0]!.id,
    person: person!.id,
    code: codes.items[0]!.code.id,
    ...(await storePayment(server, ours.id)),
    ...{ webhook: webhook.id, delivery: delivery.id, operatorWebhook: theirs.id, operatorDelivery: sent.id },
    ...{ team: team.id, run: RUN },
    conversation: (await owner.call('POST /conversations', { body: saved })).id,
  }
  const { user, group } = await directoryOf(server, ours.id)
  const { account, key, request, session, payment, purchase, conversation } = things
  const ids = [account, key, request, session, payment, purchase, conversation, webhook.id, team.id, response, user]
  return { things, response, user, group, marks: [...MARKS, ours.email, ...ids] }
}

async function directoryOf(server: TestServer, account: string) {
  const { secret } = await server.operate('admin-keys.create', { name: 'directory', scopes: ['scim'], account })
  const create = async (kind: string, body: object): Promise<string> => {
    const made = await sendToScim(server, `POST /${kind}`, { key: secret, body })
    if (made.status !== 201) throw new Error(made.text)
    return made.json.id as string
  }
  return {
    user: await create('Users', { schemas: [USER], userName: 'canary-user@example.com' }),
    group: await create('Groups', { schemas: [GROUP], displayName: 'canary-group' }),
  }
}

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

let calls = 0

/** What is there, for callers who are refused and for those who only read. */
export function sampleFor(route: MatrixRoute, props: Props): Sample {
  calls += 1
  switch (route.surface) {
    case 'server':
      return ofServer(route, props)
    case 'admin':
      return { ...ofAdmin(route), ids: { ...props.things } }
    case 'scim':
      return { ids: { users: props.user, groups: props.group }, body: ofDirectory(route) }
    case 'console': {
      const { params, ...sample } = sampleOf(`${route.method} ${route.path}` as RouteName, props.things)
      return { ...sample, ids: params ?? {} }
    }
    case 'playground':
      return { ids: {}, body: turnOf(route.path) }
    case 'sign-on':
      return { ids: {} }
  }
}

const turnOf = (path: string): object =>
  path.endsWith('/chat/completions')
    ? { model: 'swift', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
    : { model: 'swift', input: 'hi', ...(path.endsWith('compact') ? {} : { max_output_tokens: 20, store: false }) }

const ofServer = ({ path }: MatrixRoute, { response, things }: Props): Sample => ({
  ids: { '/v1/responses/': response, '/v1/requests/': things.request, '/v1/runs/': RUN, '/v1/models/': 'swift' },
  body: turnOf(path),
})

function ofDirectory({ method, path }: MatrixRoute): unknown {
  const isUser = path.startsWith('/users')
  if (method === 'PATCH')
    return { schemas: [PATCH], Operations: [{ op: 'replace', path: 'displayName', value: 'Ann' }] }
  if (method === 'GET' || method === 'DELETE') return undefined
  return isUser
    ? { schemas: [USER], userName: `made-${calls}@example.com` }
    : { schemas: [GROUP], displayName: `made ${calls}` }
}

/** Accounts and teams need a new name with each call, and a preview a model of this server. */
function ofAdmin({ method, path }: MatrixRoute): Pick<Sample, 'query' | 'body'> {
  const name = `${method} ${path}` as AdminRouteName
  const { query, body } = ADMIN_ROUTES[name].example as Pick<Sample, 'query' | 'body'>
  const more = query === undefined ? {} : { query }
  if (name === 'POST /accounts') return { body: { email: `matrix-${calls}@example.com` } }
  if (name === 'POST /managed/preview') return { body: { ...(body as object), model: 'swift' } }
  if (name === 'POST /accounts/:account/teams') return { body: { name: `made ${calls}` } }
  return { ...more, body }
}

/** What each permitted call may use up: new things, or for the console ids that do not exist. */
export async function freshSample(
  server: TestServer,
  route: MatrixRoute,
  props: Props,
  cast: Cast,
  directoryKey: string | undefined,
): Promise<Sample> {
  const sample = sampleFor(route, props)
  switch (route.surface) {
    case 'admin':
      return { ...sample, ids: { ...sample.ids, ...(await forAdmin(server, `${route.method} ${route.path}`, cast)) } }
    case 'scim':
      return route.method === 'GET' || route.names.length === 0 || directoryKey === undefined
        ? sample
        : newEntries(server, route, directoryKey)
    case 'server':
      return route.method === 'DELETE'
        ? { ids: { '/v1/responses/': (await streamResponse(server, cast.ours)).id } }
        : sample
    case 'console':
      return route.method !== 'GET' && DESTRUCTIVE.test(`${route.method} ${route.path}`)
        ? { ...sample, ids: Object.fromEntries(Object.keys(sample.ids).map((name) => [name, 'none_00000000'])) }
        : sample
    default:
      return sample
  }
}

/** What it ends would be missing from the rest of the matrix: that it may be asked is seen by a wrong id. */
const DESTRUCTIVE = /disable|DELETE|revoke|rotate|renewal|status|PATCH .members|remove|raise/

async function newEntries(server: TestServer, route: MatrixRoute, key: string): Promise<Sample> {
  const user = { schemas: [USER], userName: `made-${calls}@example.com` }
  const group = { schemas: [GROUP], displayName: `made ${calls}` }
  const [made, grouped] = await Promise.all([
    sendToScim(server, 'POST /Users', { key, body: user }),
    sendToScim(server, 'POST /Groups', { key, body: group }),
  ])
  // With the same names: that of a user is final.
  return { ids: { users: made.json.id as string, groups: grouped.json.id as string }, body: ofDirectory(route) }
}

async function forAdmin(server: TestServer, name: string, { ours }: Cast): Promise<Record<string, string>> {
  const { operate } = server
  // With the caps that the examples raise.
  const caps = { day: '1.00', month: '1.00' }
  const fresh: Record<string, string> = {}
  if (name.includes(':code')) {
    const { items } = await operate('codes.create', { amount: '1', count: 1, note: '' })
    fresh.code = items[0]!.code.id
  }
  if (name.endsWith('/plan/end')) await operate('plans.assign', { account: ours.id, plan: 'wide' })
  if (name.includes(':team'))
    fresh.team = (await operate('teams.create', { account: ours.id, name: `team ${calls}`, caps })).id
  if (name.includes('webhook')) fresh.webhook = await newWebhook(server)
  if (name.includes(':delivery')) fresh.delivery = (await operate('webhooks.test', { webhook: fresh.webhook! })).id
  if (name.includes(':person')) fresh.person = await newPerson(server, ours.id, caps)
  if (name.includes('/admin-keys/')) fresh.key = (await createAdminKey(server, ['admin-keys:read'])).id
  else if (name.includes(':key')) fresh.key = (await ours.createKey({ caps })).id
  return fresh
}

/** Operators may have a few: the one before goes. */
async function newWebhook({ operate }: TestServer): Promise<string> {
  for (const { id, url } of (await operate('webhooks.list', {})).items)
    if (!url.includes('canary')) await operate('webhooks.remove', { webhook: id })
  return (await operate('webhooks.add', { url: 'https://hooks.invalid/', events: ['lane.down'] })).webhook.id
}

async function newPerson(server: TestServer, account: string, caps: object): Promise<string> {
  const email = `fresh-person-${calls}@example.com`
  const person = await signUp(server, { email, role: 'member', account })
  const { id } = (await person.call('GET /session')).person!
  await server.operate('people.caps', { person: id, ...caps })
  return id
}
