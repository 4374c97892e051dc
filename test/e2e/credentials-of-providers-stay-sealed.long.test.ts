// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../src/admin/operations.ts'
import type { ProviderAnswer } from '../fakes/answers.ts'
import { chunk } from '../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { chat, get, hello, send } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { startServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../support/test-config.ts'
import { until } from '../support/until.ts'

/** Of no known shape: nothing but having been told can make anybody hide them. */
const canary = () => `Wq7${randomBytes(12).toString('hex')}/z+9`
const KEY = canary()
const PROXY = canary()
const LITERAL = canary()
const FROM_FILE = canary()
const CANARIES = [KEY, PROXY, LITERAL, FROM_FILE]

/** All that the provider was sent and should have kept to itself. */
const echoOf = ({ receivedHeaders }: ProviderAnswer): string =>
  `${receivedHeaders.get('authorization')} ${receivedHeaders.get('x-proxy-auth')}`

/** The credential as the password of Basic authentication, in the alphabet of addresses. */
const basicOf = (echo: string): string => Buffer.from(`user:${echo.split(' ')[1]}`).toString('base64url')

const answers =
  (status: number, bodyOf: (echo: string) => object | string) => async (providerAnswer: ProviderAnswer) => {
    const echo = echoOf(providerAnswer)
    const body = bodyOf(echo)
    await providerAnswer.head(status, { 'x-echo': echo, 'retry-after': echo, 'x-request-id': echo, 'set-cookie': echo })
    await providerAnswer.bytes(typeof body === 'string' ? body : JSON.stringify(body))
    await providerAnswer.end()
  }

const envelope = (echo: string) => ({
  error: { message: `You sent ${echo}`, type: echo, code: echo, param: echo.split(' ')[1], echo },
})

const SCRIPTS: Readonly<Record<string, (providerAnswer: ProviderAnswer) => Promise<void>>> = {
  ...Object.fromEntries(
    [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503, 529].map((status) => [
      `status-${status}`,
      answers(status, envelope),
    ]),
  ),
  'plain-400': answers(400, (echo) => `You sent ${echo}`),
  'long-400': answers(400, (echo) => ({ message: `${'x'.repeat(285)} ${echo}` })),
  'longer-400': answers(400, (echo) => ({ detail: `${'x '.repeat(490)}${echo}` })),
  'base64-400': answers(400, (echo) => ({ error: { message: `You sent ${Buffer.from(echo).toString('base64')}` } })),
  'basic-400': answers(400, (echo) => ({ error: { message: `Basic ${basicOf(echo).replace(/=+$/, '')}` } })),
  'controls-400': answers(400, (echo) => ({ error: { message: `You sent ${[...echo].join('\u200b\u202e')}` } })),
  'html-500': answers(500, (echo) => `<html>${echo}</html>`),
  'too-long': answers(400, (echo) => ({ error: { message: `maximum context length, ${echo}` } })),
  'learned-field': answers(400, (echo) => ({ error: { message: `Unsupported parameter: '${echo}'`, param: echo } })),
  'error-with-200': answers(200, envelope),
  'rejected-with-200': answers(200, (echo) => ({ error: { message: echo, code: 'invalid_request' } })),
  'garbage-with-200': answers(200, (echo) => echo),
  async 'first-event'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.frames(JSON.stringify({ error: { message: echoOf(providerAnswer), code: 'invalid_request' } }))
    await providerAnswer.end()
  },
  async 'later-event'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: 'Good ' } }), {
      error: { message: echoOf(providerAnswer), code: '400' },
    })
    await providerAnswer.end()
  },
  async 'named-event'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: 'Good ' } }))
    await providerAnswer.bytes(
      `event: error\ndata: ${JSON.stringify({ message: echoOf(providerAnswer), type: 'error' })}\n\n`,
    )
    await providerAnswer.end()
  },
  async redirect(providerAnswer) {
    await providerAnswer.head(307, { location: `http://127.0.0.1:1/?key=${echoOf(providerAnswer)}` })
    await providerAnswer.end()
  },
  async 'broken-head'(providerAnswer) {
    await providerAnswer.raw(`HTTP/1.1 ${echoOf(providerAnswer)}\r\n\r\n`)
    providerAnswer.close()
  },
}

const modelText = (name: string, upstream: string) =>
  `  - { id: ${upstream}-${name}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${upstream}, model: ${name} }] }`

const configOf = (far: FaultUpstream) => `${EVERY_LANE_ASKED}upstreams:
  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true, api_key: "\${FAR_KEY}", headers: { x-proxy-auth: "Token \${FAR_PROXY}" } }
  - { id: literal, wire: chat, base_url: "${far.baseUrl}", allow_private: true, api_key: "${LITERAL}", headers: { x-proxy-auth: "\${FAR_PROXY}" } }
models:
${Object.keys(SCRIPTS)
  .flatMap((name) => [modelText(name, 'far'), modelText(name, 'literal')])
  .join('\n')}
`

const ENVIRONMENT = { FAR_KEY: KEY, FAR_PROXY: PROXY }

const EVERYTHING = { depth: 20, showHidden: true, getters: true, maxArrayLength: 1000, maxStringLength: 100_000 }

function expectSealed(what: string, text: string) {
  for (const secret of CANARIES) {
    const spellings = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64'), secret.slice(0, 14)]
    for (const spelling of spellings) expect(text.includes(spelling), `${what}: ${text}`).toBe(false)
    // Wherever it stands in what was encoded: a part of it that does not depend on its neighbours.
    for (const offset of [0, 1, 2]) {
      const encoded = Buffer.from(`${'x'.repeat(offset)}${secret}`)
        .toString('base64url')
        .slice(4, -4)
      expect(text.replaceAll('+', '-').replaceAll('/', '_').includes(encoded), `${what}: ${text}`).toBe(false)
    }
    expect(text, what).not.toMatch(/[\u200b\u202e]/)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Speaks to the admin socket itself, so that nothing is hidden by the command that asks. */
async function sendOverSocket(operations: readonly (readonly [name: string, args: object])[]): Promise<string> {
  const { version } = JSON.parse(await readFile(join(server.folder, 'data', 'server.json'), 'utf8'))
  const socket = connect(join(server.folder, 'data', 'admin.sock'))
  let emitted = ''
  socket.setEncoding('utf8').on('data', (text) => {
    emitted += text
  })
  for (const [operation, args] of operations) socket.write(`${JSON.stringify({ version, operation, args })}\n`)
  socket.write('garbage\n')
  await until(() => emitted.split('\n').length > operations.length + 1)
  socket.destroy()
  return emitted
}

let far: FaultUpstream
let metricsPort: number
let server: SpawnedServer
/** Every request that was made, for the operator to look at. */
const requests: string[] = []
beforeAll(async () => {
  far = await startFaultUpstream((model) => SCRIPTS[model])
  metricsPort = await freePort()
  server = await spawnServer({
    config: configOf(far),
    environment: {
      ...ENVIRONMENT,
      MILLRACE_SERVER__METRICS_PORT: String(metricsPort),
      // An error that no code catches, with a credential in its message, when the test wants it.
      NODE_OPTIONS: `--import data:text/javascript,process.on('SIGUSR2',()=>{throw%20new%20Error('sent%20'+process.env.FAR_KEY,{cause:process.env.FAR_PROXY})})`,
    },
  })
})
afterEach(() => expectSealed('what the server said', server.output()))
afterAll(async () => {
  await server?.close()
  await far?.close()
})

describe('provider credentials', { timeout: 60_000 }, () => {
  it.each(Object.keys(SCRIPTS))('never reach a client when the provider echoes them: %s', async (name) => {
    for (const upstream of ['far', 'literal']) {
      for (const stream of [false, true]) {
        far.forget()
        const response = await send(server, server, { model: `${upstream}-${name}`, stream, messages: hello() })
        const text = await response.text()
        expect(far.providerAnswers[0]?.receivedHeaders.get('authorization')).toBe(
          `Bearer ${upstream === 'far' ? KEY : LITERAL}`,
        )
        expect(far.providerAnswers[0]?.receivedHeaders.get('x-proxy-auth')).toContain(PROXY)
        expectSealed(`${name} as ${stream ? 'a stream' : 'JSON'}`, inspect([...response.headers]) + text)
        requests.push(response.headers.get('x-request-id') ?? '')
      }
    }
  })

  it.each(Object.keys(SCRIPTS))('never reach a stored or streamed response: %s', async (name) => {
    for (const stream of [false, true]) {
      const receivedRequest = { model: `far-${name}`, stream, input: 'Good day' }
      const response = await send(server, server, receivedRequest, { path: '/responses' })
      const text = await response.text()
      expectSealed(`a response of ${name}`, inspect([...response.headers]) + text)
      requests.push(response.headers.get('x-request-id') ?? '')
      const [stored] = /\bresp_\w+/.exec(text) ?? []
      if (stored === undefined) continue
      for (const path of [`/responses/${stored}`, `/responses/${stored}?stream=true`]) {
        const shown = await fetch(`${server.baseUrl}${path}`, { headers: { authorization: `Bearer ${server.key}` } })
        expectSealed(path, inspect([...shown.headers]) + (await shown.text()))
      }
    }
  })

  it('appear in no receipt', async () => {
    const shown = await Promise.all(requests.map((id) => get(server, server, `/requests/${id}`)))
    expect(shown.filter(({ status }) => status === 200).length).toBeGreaterThan(Object.keys(SCRIPTS).length)
    for (const { json } of shown) expectSealed('a receipt', JSON.stringify(json))
  })

  it('and client keys: no provider sees them', () => {
    expect(far.providerAnswers.length).toBeGreaterThan(0)
    for (const { receivedRequest, receivedHeaders } of far.providerAnswers) {
      expect(JSON.stringify(receivedRequest) + inspect([...receivedHeaders], EVERYTHING)).not.toContain(server.key)
    }
  })

  it('are printed by no command and no admin socket operation', async () => {
    const commands = ['check', 'status', 'models', 'accounts list', 'accounts show owner@example.com', 'keys list']
    commands.push('wallet show owner@example.com', 'wallet entries owner@example.com', 'db verify')
    commands.push('check --json', 'status --json', 'models --json')
    const printed = await Promise.all(commands.map((command) => server.run(...command.split(' '))))
    for (const [at, { code, out, err }] of printed.entries()) {
      expect([commands[at], code, err]).toEqual([commands[at], 0, ''])
      expectSealed(`millrace ${commands[at]}`, out)
    }
    const operations = [...Object.keys(OPERATIONS), 'config', 'nobody.knows'].map((name) => [name, {}] as const)
    const traces = requests.map((request) => ['requests.trace', { request }] as const)
    const emitted = await sendOverSocket([...operations, ...traces])
    expect(emitted).toContain('upstream_failed')
    expectSealed('the admin socket', emitted)
  })

  it('appear in no metric', async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    expect(text).toContain('millrace_')
    expectSealed('metrics', text)
  })

  it('are not echoed when their file is refused by check or reload', async () => {
    const good = configOf(far)
    await writeFile(join(server.folder, 'key-file'), `${FROM_FILE}\nsecond line`)
    const spoilt = [
      good.replace('"${FAR_KEY}"', '"${FAR_KEY} x"'),
      good.replace(`"${LITERAL}"`, `"${LITERAL}`),
      good.replace(`"${LITERAL}"`, `"${LITERAL}\\q"`),
      good.replace(`"${LITERAL}"`, `["${LITERAL}"]`),
      good.replace(`"${LITERAL}"`, `"\${${LITERAL}}"`),
      good.replace(`"${LITERAL}"`, '"${file:key-file}"'),
      good.replace('upstream: literal', `upstream: "${LITERAL}"`),
    ]
    for (const [at, text] of spoilt.entries()) {
      expect(text).not.toBe(good)
      await server.writeConfig(text)
      const { code, out, err } = await server.run('check')
      expect([at, code]).toEqual([at, 2])
      expectSealed('check', out + err)
      const refused = server.logged('was not reloaded').length
      server.kill('SIGHUP')
      await until(() => server.logged('was not reloaded').length > refused)
      expectSealed('the log', server.output())
    }
    await server.writeConfig(good)
    server.kill('SIGHUP')
    await until(() => server.logged('was reloaded').length > 0)
  })

  it('appear in no crash output and no leftover file', async () => {
    server.kill('SIGUSR2')
    const { code, out, err } = await server.ended
    expect(code).toBe(1)
    expect(out).toContain('uncaught error')
    expect(out).toContain('sent [secret]')
    expectSealed('the crash', out + err)
    const files = await readdir(join(server.folder, 'data'))
    expect(files).toContain('ledger.db')
    expect(files).toContain('content.db')
    for (const name of files.filter((file) => !file.endsWith('.sock'))) {
      const bytes = (await readFile(join(server.folder, 'data', name))).toString('latin1')
      expectSealed(name, bytes)
      expect(bytes.includes(server.key), `the client's key in ${name}`).toBe(false)
    }
  })

  it('cannot be read by inspecting the server’s objects', async () => {
    const inside = await startServer({
      config: configOf(far).replaceAll('${FAR_KEY}', KEY).replaceAll('${FAR_PROXY}', PROXY),
    })
    try {
      const account = await openAccount(inside)
      await chat(inside, account, { model: 'far-status-400' })
      const printed = inspect(inside, EVERYTHING)
      expect(printed).toContain('[secret]')
      expectSealed('inspect', printed)
    } finally {
      await inside.close()
    }
  })
})
