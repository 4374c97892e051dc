import { beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_ROUTES, type AdminRouteName } from '../../../src/contract/admin-api.ts'
import { ADMIN_SCOPES, type AdminScope } from '../../../src/contract/admin-keys.ts'
import { ADMIN_NAMES, type AdminAnswer, createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

/** What is said in a request, which the management API never shows. */
const PROMPT = 'canary-of-a-prompt'

const server = useServer({
  config: `${PLANS_CONFIG}limits: { keys_per_account: 2000, address: { refused_per_minute: off } }\n`,
})

/** How a caller authenticates, and what the answer has to be where its scope does not decide. */
interface Who {
  readonly name: string
  readonly scope?: AdminScope
  readonly refusal?: string
}

const WHO: readonly Who[] = [
  { name: 'no key', refusal: '401 missing_api_key' },
  { name: 'an API key', refusal: '401 invalid_api_key' },
  { name: 'a mistyped admin key', refusal: '401 invalid_api_key' },
  { name: 'an unknown admin key', refusal: '401 invalid_api_key' },
  { name: 'an expired admin key', refusal: '401 invalid_api_key' },
  { name: 'a revoked admin key', refusal: '401 invalid_api_key' },
  { name: "an operator's session", refusal: '401 missing_api_key' },
  { name: "an owner's session", refusal: '401 missing_api_key' },
  ...ADMIN_SCOPES.map((scope) => ({ name: scope, scope })),
]

/** By the words of the scopes alone. */
function permits(granted: AdminScope, needed: string): boolean {
  const [family, may] = granted.split(':')
  const [neededFamily, needs] = needed.split(':')
  return granted === 'admin' || needed === 'any' || (family === neededFamily && (may === needs || may === 'write'))
}

const credentials = new Map<string, { readonly key?: string; readonly headers?: Record<string, string> }>()
const secrets: string[] = []
let account: TestAccount
let owner: string
let request: string

beforeAll(async () => {
  const { operate } = server()
  account = await openAccount(server())
  await operate('accounts.create', { email: 'ann@example.com' })
  await operate('wallet.credit', { account: 'ann@example.com', amount: '20', reason: 'matrix', ref: 'matrix' })
  await chat(server(), account, { model: 'swift', messages: [{ role: 'user', content: PROMPT }] })
  request = (await account.receipts())[0]!.request_id
  const person = await signUp(server(), { email: account.email, account: account.id })
  const chief = await signUp(server(), { email: 'chief@example.com', role: 'operator' })
  owner = (await person.call('GET /session')).person!.id
  for (const scope of ADMIN_SCOPES) credentials.set(scope, { key: (await createAdminKey(server(), [scope])).secret })
  const expired = await createAdminKey(server(), ['admin'], '1h')
  const revoked = await createAdminKey(server(), ['admin'])
  await operate('admin-keys.revoke', { key: revoked.id })
  server().advance(2 * 3_600_000)
  credentials.set('no key', {})
  credentials.set('an API key', { key: account.key })
  credentials.set('a mistyped admin key', { key: `${revoked.secret.slice(0, -1)}~` })
  credentials.set('an unknown admin key', { key: 'mra_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA0ZW2lA' })
  credentials.set('an expired admin key', { key: expired.secret })
  credentials.set('a revoked admin key', { key: revoked.secret })
  credentials.set("an operator's session", { headers: { cookie: chief.cookie! } })
  credentials.set("an owner's session", { headers: { cookie: person.cookie! } })
  secrets.push(account.key, ...[...credentials.values()].flatMap(({ key }) => key ?? []), person.cookie!, chief.cookie!)
})

let calls = 0

/** Things of which each call may use up one. */
async function paramsOf(name: AdminRouteName): Promise<Record<string, string>> {
  const { operate } = server()
  const [code] = name.includes(':code')
    ? (await operate('codes.create', { amount: '1', count: 1, note: '' })).items
    : []
  if (name.endsWith('/plan/end')) await operate('plans.assign', { account: account.id, plan: 'pro' })
  const isAdminKey = name.includes('/admin-keys/')
  // With the caps that the examples raise.
  calls += 1
  const caps = { day: '1.00', month: '1.00' }
  const team = name.includes(':team')
    ? (await operate('teams.create', { account: account.id, name: `team ${calls}`, caps })).id
    : 'none'
  const webhook = name.includes(':webhook') ? await newWebhook() : 'none'
  const delivery = name.includes(':delivery') ? (await operate('webhooks.test', { webhook })).id : 'none'
  if (name.includes(':person')) await operate('people.caps', { person: owner, ...caps })
  return {
    ...{ webhook, delivery },
    ...{ account: account.id, request, team, person: owner, code: code?.code.id ?? 'none' },
    key: isAdminKey ? (await createAdminKey(server(), ['admin-keys:read'])).id : (await account.createKey({ caps })).id,
  }
}

/** Operators may have a few: the one before goes. */
async function newWebhook(): Promise<string> {
  const { operate } = server()
  for (const { id } of (await operate('webhooks.list', {})).items) await operate('webhooks.remove', { webhook: id })
  const added = await operate('webhooks.add', { url: 'https://hooks.invalid/', events: ['lane.down'] })
  return added.webhook.id
}

/** Accounts and teams need a new name with each call, and a preview a model of this server. */
function uniqueBody(name: AdminRouteName, body: unknown): unknown {
  if (name === 'POST /accounts') return { email: `matrix-${calls}@example.com` }
  if (name === 'POST /managed/preview') return { ...(body as object), model: 'swift' }
  return name === 'POST /accounts/:account/teams' ? { name: `made ${calls}` } : body
}

async function call(name: AdminRouteName, { name: who }: Who, params: Record<string, string>): Promise<AdminAnswer> {
  const { query, body } = ADMIN_ROUTES[name].example
  calls += 1
  const unique = uniqueBody(name, body)
  return sendToAdmin(server(), name, { ...credentials.get(who), params, query, body: unique })
}

describe('every route of the management API', () => {
  it.each(ADMIN_NAMES)('answers by scope alone: %s', async (name) => {
    const { scope: needed, answer, file } = ADMIN_ROUTES[name]
    for (const who of WHO) {
      const isPermitted = who.scope !== undefined && permits(who.scope, needed)
      const reported = await call(name, who, isPermitted ? await paramsOf(name) : { account: account.id })
      const expected = who.refusal ?? (isPermitted ? '200 ' : '403 insufficient_scope')
      expect(`${reported.status} ${reported.error?.code ?? ''}`, `${who.name}: ${reported.text}`).toBe(expected)
      expect(reported.headers.get('access-control-allow-origin')).toBeNull()
      if (isPermitted) answer.parse(file === undefined ? reported.json : reported.text)
      else expect(reported.json.error).toMatchObject({ source: 'gateway', request_id: expect.stringMatching(/^req_/) })
      expectNoSecret(reported.text)
    }
  })
})

/** Neither a secret that was known before, nor anything that a secret is found by, nor what was said in a request. */
function expectNoSecret(text: string): void {
  for (const secret of secrets) expect(text).not.toContain(secret)
  expect(text).not.toMatch(/digest|argon2|password"|pepper/)
  expect(text).not.toContain(PROMPT)
}

it('secrets are in the answers that create them, and in no other', async () => {
  const { secret: key } = await createAdminKey(server(), ['admin'])
  const made = new Map<string, string>()
  for (const name of ADMIN_NAMES) {
    const { query, body } = ADMIN_ROUTES[name].example
    calls += 1
    const unique = uniqueBody(name, body)
    const { text } = await sendToAdmin(server(), name, { key, params: await paramsOf(name), query, body: unique })
    const found = text.match(/mra_\w{49}|mr_(?:wallet|builder)_\w{49}|MR(?:-[0-9A-Z]{5}){5}|setup\?code=[0-9A-Z-]{29}/g)
    if (found !== null) made.set(name, String(found.length))
  }
  expect([...made.keys()].sort()).toEqual([
    ...['POST /admin-keys', 'POST /codes', 'POST /keys', 'POST /keys/:key/rotate', 'POST /people/invitations'],
  ])
})
