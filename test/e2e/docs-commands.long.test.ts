import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findFreePort } from '../program/free-port.mjs'
import { DIST } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { OWNER, type SpawnedServer, spawnServer } from '../support/spawn-server.ts'

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url))

const CONFIG = `
upstreams: [{ id: demo, wire: demo }]
models:
${['demo', 'fast-coder', 'small-coder', 'gpt-5']
  .map(
    (id) => `  - id: ${id}
    context_tokens: 128000
    max_output_tokens: 8192
    price: { input: "0.10", output: "0.40" }
    lanes: [{ upstream: demo, model: demo-fast }]`,
  )
  .join('\n')}
plans: [{ id: builder, models: ["*"], windows: [{ every: 5h, allowance: "12.00" }] }]
`

/** Commands that are shown and not run here, and why. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/^(millrace|node dist\/app\/main\.js|MALLOC_MMAP_THRESHOLD_=.*) serve/, 'a server runs already'],
  [/^(npm|git|alias|aider|node (scripts|test))/, 'other programs'],
  [/^millrace db move/, 'test/postgres moves ledgers'],
  [/^millrace db clock/, 'it stops the server of the test'],
  [/^millrace init --from-litellm|^millrace check --config/, 'src/config/from-litellm.test.ts converts'],
  [/^millrace (catalog|route explain|upstreams test)/, 'its output belongs to another configuration; see below'],
]

/** The pages in the order in which their commands build on each other. */
const PAGES = [
  ...['quick-start-operator.md', 'quick-start-developer.md', 'quick-start-sre.md'],
  ...readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !/^(quick-start|decisions)/.test(path))
    .sort(),
]

let server: SpawnedServer
let metricsPort: number
let ownKey: string

beforeAll(async () => {
  metricsPort = await findFreePort(createRandom(process.pid))
  server = await spawnServer({
    config: CONFIG,
    environment: { MILLRACE_SERVER__METRICS_PORT: String(metricsPort) },
  })
  await server.json('accounts', 'create', '--email', 'a@example.com')
  ownKey = server.key
  await mkdir(`${server.folder}/work`)
  await mkdir(`${server.folder}/backups`)
  const keys = '[{ name: laptop, kind: wallet }]'
  await writeFile(join(server.folder, 'work', 'accounts.yaml'), `accounts: [{ email: b@example.com, keys: ${keys} }]\n`)
})

afterAll(() => server?.close())

/** A command begins a line; what follows it without beginning one belongs to it. */
function commandsIn(block: string): string[] {
  const isTranscript = /^\$ /m.test(block)
  const commands: string[] = []
  for (const line of block.split('\n')) {
    if (isTranscript) commands.push(...(line.startsWith('$ ') ? [line.slice(2)] : []))
    else if (/^(millrace|curl|export|node|npm|git|alias|aider|MALLOC_MMAP_THRESHOLD_)\b/.test(line)) commands.push(line)
    else if (commands.length > 0 && line.trim() !== '' && !line.startsWith('#')) {
      commands.push(`${commands.pop()}\n${line}`)
    }
  }
  return commands
}

const blocksOf = (page: string): string[] =>
  [...readFileSync(`${DOCS}/${page}`, 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(
    ([, language = '', text = '']) => (['', 'sh', 'bash'].includes(language) ? [text] : []),
  )

const commandsOf = (page: string): string[] =>
  blocksOf(page)
    .flatMap(commandsIn)
    .filter((command) => !NOT_RUN.some(([which]) => which.test(command)))

/** What each page shows with an ellipsis, made for the command that names it. */
async function fillIn(command: string, said: string): Promise<string> {
  let filled = command
    .replaceAll(/127\.0\.0\.1:4[67]00/g, `127.0.0.1:${server.port}`)
    .replaceAll('127.0.0.1:4701', `127.0.0.1:${metricsPort}`)
    .replaceAll(/ --data (?!\/var)\S+/g, '')
    .replaceAll('/var/lib/millrace', `${server.folder}/restored`)
    .replaceAll('/backups', `${server.folder}/backups`)
    .replaceAll('node dist/app/main.js', 'millrace')
    .replaceAll('mr_wallet_…', ownKey)
    .replaceAll('MODEL', 'demo')
    .replaceAll(' [account]', '')
    // A person at a terminal is asked.
    .replace(/ keys revoke \S+/, '$& --yes')
    .replace(/ apply -f \S+/, '$& --yes')
  for (const [, kind = ''] of said.matchAll(/"(?:id|call_id)": ?"((?:resp|call|req)_\w+)"/g)) {
    filled = filled.replaceAll(`${kind.slice(0, kind.indexOf('_') + 1)}…`, kind)
  }
  if (filled.includes('key_…')) filled = filled.replaceAll('key_…', await newKey())
  if (filled.includes('team_…')) filled = filled.replaceAll('team_…', await newTeam())
  if (filled.includes('whk_…')) {
    const { webhook, delivery } = await newWebhook()
    filled = filled.replaceAll('whk_…', webhook).replaceAll('msg_…', delivery)
  }
  if (filled.includes('adm_…')) filled = filled.replaceAll('adm_…', (await newAdminKey()).id)
  if (filled.includes('mra_…')) filled = filled.replaceAll('mra_…', (await newAdminKey()).secret)
  if (filled.includes('code_…')) filled = filled.replaceAll('code_…', (await newCode()).id)
  if (filled.includes('MR-…')) filled = filled.replaceAll('MR-…', (await newCode()).secret)
  if (filled.includes('req_…')) filled = filled.replaceAll('req_…', await newRequest())
  return filled
}

async function newKey(): Promise<string> {
  const { id } = await server.json('keys', 'create', '--account', OWNER, '--kind', 'wallet', '--name', 'new')
  return String(id)
}

/** One that is tried already, at a name that does not resolve. */
async function newWebhook() {
  const added = await server.json('webhooks', 'add', 'https://hooks.invalid/', '--events', 'lane.down')
  const webhook = String((added.webhook as { id: string }).id)
  const { id } = await server.json('webhooks', 'test', webhook)
  return { webhook, delivery: String(id) }
}

/** With a cap that a command raises. */
async function newTeam(): Promise<string> {
  const name = `team ${++teams}`
  const { id } = await server.json('teams', 'create', name, '--account', 'a@example.com', '--day', '1', '--month', '1')
  return String(id)
}

let teams = 0

async function newAdminKey(): Promise<{ readonly id: string; readonly secret: string }> {
  return (await server.json('admin-keys', 'create', '--name', 'new', '--scopes', 'admin')) as never
}

async function newCode(): Promise<{ readonly id: string; readonly secret: string }> {
  const { items } = (await server.json('codes', 'create', '1.00', '--note', 'test')) as never
  const [{ code, secret }] = items as [{ code: { id: string }; secret: string }]
  return { id: code.id, secret }
}

async function newRequest(): Promise<string> {
  const response = await fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ownKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

/** Commands of a page that change a person need one. */
async function signUp(): Promise<void> {
  const { code } = await server.json('people', 'invite', 'ann@example.com', '--account', 'a@example.com')
  const origin = new URL(server.baseUrl).origin
  const response = await fetch(`${origin}/console/api/sign-up`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ code, password: 'a long enough password' }),
  })
  expect(response.status, await response.text()).toBe(200)
}

const PRELUDE = `set -eu
millrace() {
  # A command that is given its file or folder.
  if [[ "$1" = init || " $* " = *' --data '* ]]; then "${process.execPath}" "${DIST}app/main.js" "$@"
  else "${process.execPath}" "${DIST}app/main.js" "$@" --config "$CONFIG_FILE" --data "$DATA"
  fi
}
`

const runInShell = (script: string, environment: Record<string, string>) =>
  new Promise<{ readonly code: number; readonly said: string }>((resolve) => {
    const options = {
      cwd: `${server.folder}/work`,
      env: { PATH: process.env.PATH, HOME: server.folder, ...environment },
    }
    execFile('bash', ['-c', PRELUDE + script], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), said: `${out}${err}` }),
    )
  })

/** A page has up to thirty commands, and each starts the program. */
const WITHIN_MS = 240_000

it.each(PAGES.filter((page) => commandsOf(page).length > 0))(
  'the commands of %s do what the page says',
  async (page) => {
    const exports: string[] = []
    let said = ''
    let isSignedUp = false
    for (const command of commandsOf(page)) {
      if (/--reset|--person|people (?:disable|enable|caps|raise|show)/.test(command) && !isSignedUp) {
        isSignedUp = true
        // A page before this one may have left the person disabled.
        await signUp().catch(() => server.json('people', 'enable', 'ann@example.com'))
      }
      const filled = await fillIn(command, said)
      if (filled.startsWith('export ')) {
        exports.push(filled)
        continue
      }
      const environment = {
        ...{ CONFIG_FILE: `${server.folder}/millrace.yaml`, DATA: `${server.folder}/data` },
        ...{ KEY: ownKey, MILLRACE_KEY: ownKey },
      }
      const ended = await runInShell([...exports, filled].join('\n'), environment)
      said = ended.said
      expect(ended.code, `${filled}\n${said}`).toBe(0)
      expect(said, filled).not.toMatch(/"error":\s*\{|^error:/m)
    }
  },
  WITHIN_MS,
)

it('the commands whose output the pages show run, too', async () => {
  for (const words of [['catalog'], ['route', 'explain', 'fast-coder'], ['upstreams', 'test']]) {
    expect((await server.run(...words)).code).toBe(0)
  }
})
