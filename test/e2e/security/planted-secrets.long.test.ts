// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { totpCode, totpStepAt } from '../../../src/auth/totp.ts'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply } from '../../fakes/chat-frames.ts'
import { refuses } from '../../fakes/emit.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { type Collector, startCollector } from '../../fixtures/telemetry/collector.ts'
import { findFreePort } from '../../program/free-port.mjs'
import { placeIn, runCommand } from '../../program/program.mjs'
import { createRandom } from '../../program/random.mjs'
import { ADMIN_NAMES, sendToAdmin } from '../../support/admin-api.ts'
import { type ConsolePerson, openBrowser, type Sent } from '../../support/console-session.ts'
import { readTotpSecret } from '../../support/read-totp-secret.ts'
import { send } from '../../support/send-chat.ts'
import { OWNER, type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts'
import { ROUTE_NAMES, SAMPLES } from '../console/routes-with-samples.ts'
import { Planted } from './find-planted.ts'

/** Many commands, each in a process of its own, and every byte of two databases. */
const TIMEOUT_MS = 900_000

const planted = new Planted()
/** For ports alone. */
const random = createRandom(Date.now())

/** Of no known shape, and of letters that every place allows. */
function plant(name: string): string {
  const secret = `Zq${randomBytes(15).toString('hex')}X`
  planted.add(name, secret)
  return secret
}

const PROVIDER_KEY = plant('key of a provider')
const PROVIDER_HEADER = plant('header of a provider')
const MANAGED_KEY = plant('key of a managed provider')
const STRIPE_KEY = plant('key of Stripe')
const STRIPE_WEBHOOK = plant('webhook secret of Stripe')
const OIDC_SECRET = plant('client secret of single sign-on')
const MAIL_PASSWORD = plant('password of the mail server')
const PASSWORD = plant('password of a person')
const WRONG_PASSWORD = plant('password that was tried')
const PROMPT = plant('prompt')
const ANSWER = plant('answer')
const INSTRUCTIONS = plant('instructions')
const ARGUMENTS = plant('arguments of a tool call')
const SAVED = plant('conversation that was saved')
const IDEMPOTENCY = plant('idempotency key')
const UNKNOWN_CODE = plant('code that does not exist')

/** What a client sent or a person asked for, and of which the answer may say it again. */
const OWN_CONTENT = ['prompt', 'answer', 'instructions', 'arguments of a tool call', 'conversation that was saved']

const quoted = ({ receivedRequest, receivedHeaders }: ProviderAnswer): string =>
  `${receivedHeaders.get('authorization')} ${receivedHeaders.get('x-proxy-auth')} ${JSON.stringify(receivedRequest)}`

const SCRIPTS: Readonly<Record<string, (answer: ProviderAnswer) => Promise<void>>> = {
  async good(answer) {
    await answer.head()
    const { model } = answer
    if (answer.delivery === 'json')
      await answer.bytes(JSON.stringify(reply(model, { message: { role: 'assistant', content: ANSWER } })))
    else await answer.frames(chunk(model, { delta: { content: ANSWER } }), chunk(model, { finish: 'stop' }), '[DONE]')
    await answer.end()
  },
  // A provider that quotes what it was sent.
  'refuses-400': (answer) => refuses(400, { error: { message: `What is ${quoted(answer)}?` } })(answer, 'before'),
  'refuses-401': (answer) => refuses(401, `${PROVIDER_KEY} is wrong`)(answer, 'before'),
  'refuses-500': (answer) => refuses(500, `<html>${quoted(answer)}</html>`)(answer, 'before'),
  async breaks(answer) {
    await answer.head()
    await answer.frames(chunk(answer.model, { delta: { content: ANSWER } }))
    answer.close()
  },
  garbage: (answer) => refuses(200, quoted(answer))(answer, 'before'),
}

const configOf = (far: FaultUpstream, closedPort: number): string => `${EVERY_LANE_ASKED}
telemetry: { log: { level: debug, format: json }, traces: { enabled: true } }
limits: { address: { refused_per_minute: off } }
upstreams:
  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true, api_key: "\${FAR_KEY}", headers: { x-proxy-auth: "\${FAR_HEADER}" } }
models:
${Object.keys(SCRIPTS)
  .map(
    (name) =>
      `  - { id: ${name}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: far, model: ${name} }] }`,
  )
  .join('\n')}
payments: { stripe: { secret_key: "\${STRIPE_KEY}", webhook_secret: "\${STRIPE_WEBHOOK}", api_base: "http://127.0.0.1:${closedPort}" } }
sign_in: { oidc: [{ name: corp, label: Corp, issuer: "http://127.0.0.1:${closedPort}", client_id: millrace, client_secret: "\${OIDC_SECRET}" }] }
notices: { allow_private_webhooks: true }
mail: { host: 127.0.0.1, port: ${closedPort}, tls: none, user: millrace, password: "\${MAIL_PASSWORD}", from: millrace@example.com }
`

const SDK = new URL('../../fixtures/telemetry/preload-sdk.mjs', import.meta.url).href

let far: FaultUpstream
let collector: Collector
let receiver: WebhookReceiver
let server: SpawnedServer
let metricsPort: number
let owner: ConsolePerson
let operator: ConsolePerson
let adminKey: string
const requests: string[] = []

/** Fails if any secret stands in the text, but for those that belong there. */
function expectNone(place: string, text: string, expected: readonly string[] = []): void {
  expect(planted.foundIn(text, expected), place).toEqual([])
}

beforeAll(async () => {
  far = await startFaultUpstream((model) => SCRIPTS[model])
  collector = await startCollector()
  receiver = await startWebhookReceiver(() => 200)
  metricsPort = await findFreePort(random)
  server = await spawnServer({
    config: configOf(far, await findFreePort(random)),
    environment: {
      ...{ FAR_KEY: PROVIDER_KEY, FAR_HEADER: PROVIDER_HEADER, STRIPE_KEY: `sk_test_${STRIPE_KEY}` },
      ...{ STRIPE_WEBHOOK: `whsec_${STRIPE_WEBHOOK}`, OIDC_SECRET, MAIL_PASSWORD },
      ...{ NODE_OPTIONS: `--import ${SDK}`, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
      MILLRACE_SERVER__METRICS_PORT: String(metricsPort),
    },
  })
  planted.add('key of a client', server.key)
  const ring = JSON.parse(await readFile(join(server.folder, 'data', 'keyring.json'), 'utf8'))
  planted.add('secret of the key ring', ring.keys[0].secret)
  planted.add('secret of the key ring, in bytes', Buffer.from(ring.keys[0].secret, 'base64url'))
  operator = await enter('operator@example.com', '--role', 'operator')
  owner = await enter('person@example.com', '--account', OWNER)
  await plantInConsole()
}, 120_000)

afterAll(async () => {
  const { names, spellings, looked, bytes } = planted
  console.log(`${names.length} secrets in ${spellings} spellings, looked for in ${looked} places of ${bytes} bytes`)
  await server?.close()
  await collector?.close()
  await receiver?.close()
  await far?.close()
})

async function enter(email: string, ...words: readonly string[]): Promise<ConsolePerson> {
  const { link } = await server.json('people', 'invite', email, ...words)
  const code = new URL(String(link)).searchParams.get('code')!
  planted.add(`code of the link to ${email}`, code)
  const person = openBrowser(server, email)
  await person.call('POST /sign-up', { body: { code, password: PASSWORD } })
  planted.add(`session of ${email}`, person.cookie!.replace(/^.*mr_session_/, ''))
  planted.add(`device of ${email}`, person.device!.split('=')[1]!)
  return person
}

/** Secrets that Millrace makes itself. */
async function plantInConsole(): Promise<void> {
  const totp = (await owner.call('POST /factors/totp')).secret
  const bytes = readTotpSecret(totp)
  planted.add('secret of an authenticator', totp.replace(/\s/g, ''))
  planted.add('secret of an authenticator, in bytes', bytes)
  const code = totpCode(bytes, totpStepAt(Date.now()))
  const { codes } = await owner.call('POST /factors/totp/confirm', { body: { code } })
  for (const [at, each] of codes!.entries()) planted.add(`recovery code ${at}`, each)
  const { secret } = await owner.call('POST /keys', { body: { name: 'second', kind: 'wallet' } })
  planted.add('second key of a client', secret)
  const hook = { url: receiver.url, events: ['webhook.off' as const] }
  const made = await owner.call('POST /webhooks', { body: hook })
  planted.add('secret of a webhook', made.secret.replace(/^whsec_/, ''))
  await owner.call('POST /webhooks/:webhook/test', { params: { webhook: made.webhook.id } })
  const saved = { title: `about ${SAVED}`, content: JSON.stringify({ said: SAVED }) }
  await owner.call('POST /conversations', { body: saved })
  const redeem = await operator.call('POST /operate/codes', { body: { amount: '1.00', count: 1, note: '' } })
  planted.add('redemption code', redeem.items[0]!.secret)
  const admin = await server.json('admin-keys', 'create', '--name', 'canary', '--scopes', 'admin')
  adminKey = String(admin.secret)
  planted.add('admin key', adminKey)
  const scim = await server.json('admin-keys', 'create', '--name', 'directory', '--scopes', 'scim', '--account', OWNER)
  planted.add('SCIM token', String(scim.secret))
  const managed = { id: 'managed', wire: 'chat', base_url: 'https://provider.invalid/v1', api_key: MANAGED_KEY }
  const changed = await sendToAdmin(server, 'POST /managed', { key: adminKey, body: { upstreams: [managed] } })
  expect(changed.status, changed.text).toBe(200)
  expectNone('the answer to a managed provider', changed.text)
}

const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: `{"at":"${ARGUMENTS}"}` } }
const MESSAGES = [
  { role: 'system', content: INSTRUCTIONS },
  { role: 'user', content: PROMPT },
  { role: 'assistant', tool_calls: [TOOL_CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: 'found' },
]
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]

/** What a client sends that is wrong, with its own contents in it. */
const WRONG: readonly (readonly [string, object | string])[] = [
  ['/chat/completions', `{"model":"good","messages":"${PROMPT}`],
  ['/chat/completions', { model: 'good', messages: PROMPT }],
  ['/chat/completions', { model: 'good', messages: [{ role: PROMPT, content: PROMPT }] }],
  ['/chat/completions', { model: 'good', messages: [{ role: 'user', content: [{ type: PROMPT }] }] }],
  ['/chat/completions', { model: 'good', messages: MESSAGES, tools: PROMPT }],
  ['/responses', { model: 'good', input: [{ type: 'message', content: { text: PROMPT } }] }],
  ['/responses', { model: 'good', input: PROMPT, include: PROMPT }],
]

it('no answer has a secret, and no failure of a provider what was said in the request', async () => {
  for (const model of Object.keys(SCRIPTS)) {
    for (const stream of [false, true]) {
      const asked = [
        send(
          server,
          server,
          { model, stream, messages: MESSAGES, tools: TOOLS },
          { headers: { 'idempotency-key': `${IDEMPOTENCY}-${model}-${stream}` } },
        ),
        send(server, server, { model, stream, input: PROMPT, instructions: INSTRUCTIONS }, { path: '/responses' }),
      ]
      for (const answer of await Promise.all(asked)) {
        requests.push(answer.headers.get('x-request-id')!)
        const text = await answer.text()
        // A provider's own words about a refused request are passed on, and may quote the request to its sender.
        const expected = answer.ok || model === 'refuses-400' ? OWN_CONTENT : []
        expectNone(`${model}, ${stream ? 'a stream' : 'JSON'}`, inspect([...answer.headers]) + text, expected)
      }
    }
  }
  for (const [path, body] of WRONG) {
    const answer = await send(server, server, body, { path })
    expect(answer.status).toBe(400)
    // The value that is wrong is named to the client that has sent it.
    expectNone(`an error of ${path}`, await answer.text(), OWN_CONTENT)
  }
  const wrongKey = `${server.key.slice(0, -1)}${server.key.endsWith('0') ? '1' : '0'}`
  const refused = await send(server, { key: wrongKey }, { model: 'good', messages: MESSAGES })
  expect(refused.status).toBe(401)
  expectNone('the refusal of a key', await refused.text())
})

it('no error of the console repeats a password or a code', async () => {
  const stranger = openBrowser(server)
  const wrong: readonly (readonly [RouteName, Sent])[] = [
    ['POST /session', { body: { email: owner.email, password: WRONG_PASSWORD } }],
    ['POST /session', { body: { email: WRONG_PASSWORD, password: WRONG_PASSWORD } }],
    ['POST /session', { body: `{"email":"${WRONG_PASSWORD}` }],
    ['POST /sign-up', { body: { code: UNKNOWN_CODE, password: WRONG_PASSWORD } }],
    ['POST /invitation', { body: { code: UNKNOWN_CODE } }],
  ]
  for (const [name, sent] of wrong) {
    const answer = await stranger.send(name, sent)
    expect(answer.status, name).toBeGreaterThanOrEqual(400)
    expectNone(name, answer.text)
  }
  for (const body of [
    { current: WRONG_PASSWORD, next: PASSWORD },
    { current: PASSWORD, next: 'short' },
  ])
    expectNone('PUT /password', (await owner.send('PUT /password', { body })).text)
  expectNone('POST /wallet/redeem', (await owner.send('POST /wallet/redeem', { body: { code: UNKNOWN_CODE } })).text)
  expectNone('a sign-in elsewhere', await (await fetch(`${rootOf()}/console/sso/corp`, { redirect: 'manual' })).text())
  const topUp = await owner.send('POST /card/top-up', { body: { amount: '20.00', save_card: true } })
  expect(topUp.status, topUp.text).toBeGreaterThanOrEqual(400)
  expectNone('a payment that cannot be made', topUp.text)
  const event = await fetch(`${rootOf()}/stripe/webhook`, {
    method: 'POST',
    headers: { 'stripe-signature': 't=1,v1=00' },
    body: '{}',
  })
  expect(event.status).toBe(400)
  expectNone('an event with a wrong signature', await event.text())
})

const rootOf = (): string => server.baseUrl.slice(0, -'/v1'.length)

it('no query of the console or of the management API shows one', async () => {
  const asked = ROUTE_NAMES.filter((name) => name.startsWith('GET') && !name.includes(':'))
  for (const person of [owner, operator])
    for (const name of asked) {
      const query = (SAMPLES[name].query ?? {}) as Record<string, string>
      const answer = await person.send(name, { query })
      if (CONSOLE_API[name].who !== 'operator' && person === owner) expect(answer.status, name).toBe(200)
      expectNone(name, inspect([...answer.headers]) + answer.text, ownOf(name))
    }
  const admin = ADMIN_NAMES.filter((name) => name.startsWith('GET'))
  const shown = await sendToAdmin(server, 'GET /keys', { key: adminKey, query: { account: OWNER } })
  const [key] = shown.json.items as { id: string }[]
  for (const name of admin) {
    const params = { account: OWNER, request: requests[0]!, key: key!.id, person: 'person@example.com' }
    const answer = await sendToAdmin(server, name, { key: adminKey, params })
    expectNone(`the management API: ${name}`, inspect([...answer.headers]) + answer.text)
  }
  const traces = await Promise.all(
    requests.map((request) => sendToAdmin(server, 'GET /requests/:request', { key: adminKey, params: { request } })),
  )
  for (const { text } of traces) expectNone('a request', text)
})

/** A list of conversations has their titles, for the person who saved them. */
const ownOf = (name: RouteName): readonly string[] =>
  name === 'GET /conversations' ? ['conversation that was saved'] : []

it(
  'no command prints one',
  async () => {
    const commands = [
      ...['check', 'doctor', 'status', 'models', 'catalog', 'overview', 'usage', `usage ${OWNER}`, `invoice ${OWNER}`],
      ...['accounts list', `accounts show ${OWNER}`, 'accounts export', 'keys list', `wallet show ${OWNER}`],
      ...[`wallet entries ${OWNER}`, 'codes list', 'people list', 'admin-keys list', 'managed list', 'managed export'],
      ...[
        'managed history upstream managed',
        'webhooks list',
        'notices list',
        'plans list',
        'payments list',
        'db verify',
      ],
      ...['payments reconcile', 'mail test operator@example.com', 'upstreams list', 'top --once --interval 1'],
      ...[`trace ${requests[0]}`, `trace ${requests[5]}`, 'upstreams test', 'doctor --online'],
    ]
    for (const command of commands) {
      const words = command.split(' ')
      for (const { out, err } of await Promise.all([server.run(...words), server.run(...words, '--json')])) {
        expect(out + err, command).not.toBe('')
        expectNone(`millrace ${command}`, out + err)
      }
    }
  },
  TIMEOUT_MS,
)

it('no metric, no span, no webhook and no log line has one', async () => {
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  expect(metrics).toContain('millrace_holds_open')
  expectNone('the metrics', metrics)
  await until(() => collector.spans.length > requests.length)
  expectNone('the spans', collector.received())
  expect(receiver.received.length).toBeGreaterThan(0)
  expectNone('the webhooks', inspect(receiver.received, { depth: 10, maxStringLength: null }))
  expect(server.logged('request').length).toBeGreaterThan(requests.length)
  expectNone('the log', server.output())
})

/** All bytes of the files below a folder, as one character each. */
async function filesBelow(folder: string): Promise<[name: string, bytes: string][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(files.map(async (file) => [file.slice(folder.length + 1), await readFile(file, 'latin1')]))
}

const RING = ['secret of the key ring', 'secret of the key ring, in bytes']

it(
  'no byte of the data folder or of a backup has one, beside the key ring',
  async () => {
    for (const [name, more] of [
      ['backup', []],
      ['without-ring', ['--without-key-ring']],
    ] as const) {
      const { code, err } = await server.run('db', 'backup', '--to', join(server.folder, name), ...more)
      expect([code, err]).toEqual([0, expect.anything()])
    }
    const looked: string[] = []
    for (const folder of ['data', 'backup', 'without-ring']) {
      for (const [name, bytes] of await filesBelow(join(server.folder, folder))) {
        looked.push(`${folder}/${name}`)
        expectNone(`${folder}/${name}`, bytes, name === 'keyring.json' ? RING : [])
      }
    }
    expect(looked).toEqual(expect.arrayContaining(['data/ledger.db', 'data/content.db', 'backup/ledger.db']))
    expect(looked).not.toContain('without-ring/keyring.json')
    server.kill('SIGTERM')
    await server.ended
    for (const [name, bytes] of await filesBelow(join(server.folder, 'data')))
      expectNone(`${name} after the end`, bytes, name === 'keyring.json' ? RING : [])
    expectNone('the log to its end', server.output())
  },
  TIMEOUT_MS,
)

it(
  'the password of a database in its address is in no message',
  async () => {
    const password = plant('password of a database')
    const closed = await findFreePort(random)
    const urls = [
      `postgres://millrace:${password}@127.0.0.1:${closed}/ledger`,
      `postgres://millrace:${password}@127.0.0.1:${closed}/ledger?sslmode=${password}`,
      `postgres://millrace:${password}@@[::1/ledger`,
      `mysql://millrace:${password}@127.0.0.1/ledger`,
      password,
    ]
    const folder = await mkdtemp(join(tmpdir(), 'millrace-planted-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'millrace.yaml'), `storage: { database: "\${DATABASE_URL}" }\n`)
    for (const [at, url] of urls.entries()) {
      const place = placeIn(folder, { environment: { DATABASE_URL: url } })
      // To a database that does not answer all commands try to connect.
      const commands = [
        'check',
        'doctor --json',
        ...(at > 0 ? [] : ['serve --port 0', 'accounts list', 'db verify --json']),
      ]
      for (const command of commands) {
        const { code, out, err } = await runCommand(place, command.split(' '))
        if (command !== 'check') expect(code, `${command}: ${out}${err}`).not.toBe(0)
        expectNone(`millrace ${command}`, out + err)
      }
    }
  },
  TIMEOUT_MS,
)
