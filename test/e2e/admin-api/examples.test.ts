import { beforeAll, expect, it } from 'vitest'
import { ADMIN_ROUTES, type AdminRouteName } from '../../../src/contract/admin-api.ts'
import { V1_API } from '../../../src/contract/v1-api.ts'
import { createAdminKey } from '../../support/admin-api.ts'
import { signUp } from '../../support/console-session.ts'
import { openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly example?: unknown
}
interface Operation {
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example?: unknown } } }
}

const server = useServer({ config: PLANS_CONFIG.replaceAll('id: swift', 'id: demo') })
const ids = new Map<string, string>()
let keys: Readonly<Record<string, string>>
let paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>

const RUN = 'fix-17'

const send = async (path: string, method: string, key: string | undefined, body?: unknown): Promise<Response> =>
  fetch(`http://127.0.0.1:${server().port}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'x-millrace-run': RUN }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

beforeAll(async () => {
  const { operate } = server()
  const account = await openAccount(server())
  await operate('accounts.create', { email: 'ann@example.com' })
  await operate('plans.assign', { account: account.id, plan: 'pro' })
  const person = await signUp(server(), { email: account.email, account: account.id })
  const code = await operate('codes.create', { amount: '1', count: 1, note: '' })
  const { secret } = await createAdminKey(server(), ['admin'])
  keys = { v1: account.key, admin: secret }
  const response = await send('/v1/responses', 'POST', account.key, { model: 'demo', input: 'Hello.' })
  const { items } = await operate('keys.list', { account: account.id })
  ids.set('account', account.id)
  ids.set('person', (await person.call('GET /session')).person!.id)
  ids.set('code', code.items[0]!.code.id)
  ids.set('key', items[0]!.id)
  // With the caps that the examples raise.
  const caps = { day: '1.00', month: '1.00' }
  await operate('keys.caps', { key: items[0]!.id, ...caps })
  await operate('people.caps', { person: account.email, ...caps })
  ids.set('team', (await operate('teams.create', { account: account.id, name: 'Red', caps })).id)
  const { webhook } = await operate('webhooks.add', {
    ...{ account: account.id, url: 'https://hooks.invalid/', events: ['balance.low'] },
  })
  ids.set('webhook', webhook.id)
  ids.set('delivery', (await operate('webhooks.test', { webhook: webhook.id })).id)
  ids.set('admin key', (await createAdminKey(server(), ['audit:read'])).id)
  ids.set('request', response.headers.get('x-request-id')!)
  const background = await send('/v1/responses', 'POST', account.key, { model: 'demo', input: 'Hi.', background: true })
  ids.set('background', ((await background.json()) as { id: string }).id)
  ids.set('response', ((await response.json()) as { id: string }).id)
  paths = ((await (await send('/openapi.json', 'GET', undefined)).json()) as { paths: typeof paths }).paths
})

const idFor = (path: string, name: string): string => {
  if (path.startsWith('/v1/models')) return 'demo'
  if (path.endsWith('/cancel')) return ids.get('background')!
  if (path.startsWith('/v1/responses')) return ids.get('response')!
  if (path.startsWith('/v1/requests')) return ids.get('request')!
  if (path.startsWith('/v1/runs')) return RUN
  return ids.get(path.includes('/admin-keys/') ? 'admin key' : name)!
}

/** The schema of the answer, before it was made a part of the document. */
function answerOf(path: string, method: string) {
  const name = `${method.toUpperCase()} ${path}`
  const admin = name.replace('/admin/v1', '').replace(/\{(\w+)\}/g, ':$1') as AdminRouteName
  return V1_API[name]?.answer ?? ADMIN_ROUTES[admin].answer
}

it('every example of openapi.json is answered as its schema says', async () => {
  const sent: string[] = []
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { tags, parameters, requestBody }] of Object.entries(methods)) {
      const body = requestBody?.content['application/json'].example
      // Without an example: what a compaction needs is a conversation.
      if (requestBody !== undefined && body === undefined) continue
      const query = parameters.flatMap(({ name, in: where, example }) =>
        where === 'query' && example !== undefined ? [[name, String(example)]] : [],
      ) as [string, string][]
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(idFor(path, name)))
      const answer = await send(`${filled}?${new URLSearchParams(query)}`, method.toUpperCase(), keys[tags[0]!], body)
      const text = await answer.text()
      expect(answer.status, `${method} ${path}: ${text}`).toBe(200)
      const isJson = answer.headers.get('content-type') === 'application/json'
      expect(() => answerOf(path, method).parse(isJson ? JSON.parse(text) : text), `${method} ${path}`).not.toThrow()
      sent.push(`${method} ${path}`)
    }
  }
  expect(sent.length).toBeGreaterThan(40)
  expect(sent).toContain('post /v1/chat/completions')
})
