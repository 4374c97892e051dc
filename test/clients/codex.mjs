// Drives the real Codex through the real server: one turn runs a command and patches a file, another resumes it. See
// ../acceptance/README.md.
//
//   node test/clients/codex.mjs --installed FOLDER [--dist FOLDER]
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endAll, runToEnd } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { readOptions } from '../chaos/lib/options.mjs'
import { createTally } from '../chaos/lib/tally.mjs'
import { startScriptedProvider, WORDS } from './lib/scripted-provider.mjs'

/** Codex gives its patch tool only to models that it takes for known ones, and it goes by how the id begins. `custom`: the
 * server takes tools of free text as such. */
const LANES = [
  { id: 'gpt-5.5-on-chat', wire: 'chat', dialect: 'openai', custom: true },
  { id: 'gpt-5.5-on-plain-chat', wire: 'chat', dialect: 'generic', custom: false },
  { id: 'gpt-5.5-on-responses', wire: 'responses', dialect: 'openai', custom: true },
  { id: 'gpt-5.5-on-plain-responses', wire: 'responses', dialect: 'generic', custom: false },
]
const CODEX_MS_MAX = 60_000

const options = readOptions({ installed: '' })
const tally = createTally()
const binary = findBinary(join(options.installed, 'codex', 'node_modules', '@openai'))
if (binary) await driveAll()
else console.log('Not run: --installed names no folder in which the clients are (see run.mjs).')
endAll()
tally.close()

async function driveAll() {
  const provider = await startScriptedProvider()
  const gateway = await serveGateway({ dist: options.dist, config: configFor(provider.url) })
  for (const lane of LANES) await drive(lane, { gateway, provider })
  await gateway.stop(tally)
  provider.close()
}

function configFor(url) {
  return {
    upstreams: LANES.map(({ id, wire, dialect }) => ({
      ...{ id: `to-${id}`, wire, dialect },
      ...{ base_url: `${url}/v1`, api_key: 'scripted-key', allow_private: true },
    })),
    models: LANES.map(({ id }) => ({
      ...{ id, efforts: ['low', 'medium', 'high'], context_tokens: 200_000, max_output_tokens: 32_000 },
      price: { input: '1.00', cached_input: '0.10', cache_write: '1.25', output: '5.00' },
      lanes: [{ upstream: `to-${id}`, model: 'scripted' }],
    })),
  }
}

async function drive({ id, wire, dialect, custom }, { gateway, provider }) {
  const place = mkdtempSync(join(tmpdir(), 'millrace-codex-'))
  const [home, workspace] = [join(place, 'home'), join(place, 'workspace')]
  mkdirSync(join(home, '.codex'), { recursive: true })
  mkdirSync(workspace)
  writeFileSync(join(home, '.codex', 'config.toml'), settings(gateway.baseUrl))
  const codex = (...args) =>
    runToEnd(binary, ['exec', ...args], {
      ...{ cwd: workspace, withinMs: CODEX_MS_MAX },
      env: { HOME: home, CODEX_HOME: join(home, '.codex'), MILL_KEY: gateway.key, NO_COLOR: '1' },
    })
  const always = ['--skip-git-repo-check', '-m', id, '--json', '--dangerously-bypass-approvals-and-sandbox']
  const says = (text) => `Codex over ${wire} (${dialect}) ${text}`
  const worked = await codex(...always, 'Grind it, and write down how.')
  tally.check(worked.code === 0, says(`ends its turn (${worked.code} ${worked.code ? worked.stdout.slice(-300) : ''})`))
  tally.check(worked.stdout.includes(`${WORDS.done} after 2 outputs`), says('hands two outputs back'))
  tally.check(worked.stdout.includes(WORDS.ground), says('has run the command'))
  const file = join(workspace, WORDS.file)
  const written = existsSync(file) ? readFileSync(file, 'utf8') : 'nothing'
  tally.check(written === `${WORDS.patched}\n`, says(`has patched the file: ${written.trim()}`))
  const resumed = await codex('resume', '--last', ...always, 'What was it?')
  const again = resumed.code === 0 && resumed.stdout.includes(`${WORDS.done} after 2 outputs`)
  tally.check(again, says('resumes with all that was before'))
  const kinds = new Set((provider.requests.at(-1)?.tools ?? []).map(({ type }) => type))
  tally.check(kinds.has('function') && kinds.has('custom') === custom, says(`is told as ${[...kinds].join(' and ')}`))
  rmSync(place, { recursive: true, force: true })
}

function settings(baseUrl) {
  return `model_provider = "mill"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mill]
name = "Millrace"
base_url = "${baseUrl}"
env_key = "MILL_KEY"
wire_api = "responses"
`
}

function findBinary(folder) {
  if (options.installed === '' || !existsSync(folder)) return undefined
  const found = readdirSync(folder, { withFileTypes: true, recursive: true }).find(
    (entry) => entry.isFile() && entry.name === 'codex' && entry.parentPath.endsWith('bin'),
  )
  return found && join(found.parentPath, found.name)
}
