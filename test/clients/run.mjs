// Drives real clients through the real server at a mock provider. See ../acceptance/README.md.
//
//   node test/clients/run.mjs [--clients curl,openai7,…] [--wire chat,responses,anthropic,gemini] [--dialect NAME] [--only REGEX]
//     [--effort LEVEL] [--installed FOLDER] [--dist FOLDER]
//
// `--effort` puts the level behind the ids of the models and into the settings of the clients.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { copyAcceptance } from '../acceptance/acceptance-folder.mjs'
import { findNewerNode } from '../acceptance/newer-node.mjs'
import { endAll, runToEnd, startUntil } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { findFreePort } from '../program/free-port.mjs'
import { readOptions } from '../program/options.mjs'
import { createRandom } from '../program/random.mjs'
import { createTally } from '../program/tally.mjs'
import { CODEX_PACKAGE } from './lib/codex-cli.mjs'

/** What `install.sh` of the harness calls the packages that a client needs. */
const CLIENTS = {
  curl: { group: undefined },
  openai7: { group: 'sdk' },
  aisdk: { group: 'sdk' },
  'py-openai-3.22.1': { group: 'python' },
  codex: { group: 'codex' },
  opencode: { group: 'opencode' },
}
/** Groups of which the pages name a newer version than the harness pins. */
const NEWER = { codex: CODEX_PACKAGE }
/** One model for each wire that the mock provider is asked on. */
const MODELS = { chat: 'mill-1', responses: 'mill-2', anthropic: 'mill-3', gemini: 'mill-4' }
/** Of the wires that more than one server speaks. */
const SERVERS = { chat: 'openai', responses: 'openai' }
const EFFORTS = ['low', 'medium', 'high']

const CLIENT_MS_MAX = 600_000

const options = readOptions({
  clients: Object.keys(CLIENTS).join(','),
  wire: Object.keys(MODELS).join(','),
  dialect: '',
  only: '',
  effort: '',
  installed: '',
})
const wires = options.wire.split(',')
const tally = createTally()
const copy = copyAcceptance('clients')
const node = copy && (await findNewerNode())
if (node) await driveAll(copy)
endAll()
tally.close()

async function driveAll(folder) {
  const harness = join(folder, 'harness')
  const clientsDir = options.installed === '' ? join(folder, 'installed') : options.installed
  mkdirSync(clientsDir, { recursive: true })
  const clients = await install(options.clients.split(','), { harness, clientsDir })
  const mockPort = await findFreePort(createRandom(process.pid + 1))
  const env = { PORT: String(mockPort), QUIET: '1' }
  await startUntil(/mock on/, node, [join(folder, 'mock', 'mock.mjs')], { cwd: folder, env })
  const mockUrl = `http://127.0.0.1:${mockPort}`
  const gateway = await serveGateway({ dist: options.dist, config: configFor(mockUrl) })
  console.log(
    `gateway ${process.version}, clients on ${node}, wires ${wires.join(', ')}${options.dialect === '' ? '' : `, dialect ${options.dialect}`}`,
  )
  for (const name of clients) {
    const began = Date.now()
    // What a client does is mostly waiting, so all wires are asked at once.
    const driven = wires.map((wire) => drive(name, wire, { harness, env: harnessEnv(wire) }))
    for (const result of await Promise.all(driven)) count(name, result)
    console.log(`${name}: ${seconds(Date.now() - began)}`)
  }
  await gateway.stop(tally)

  function harnessEnv(wire) {
    const { effort, only } = options
    const model = effort === '' ? MODELS[wire] : `${MODELS[wire]}-${effort}`
    return {
      ...{ BASE_URL: gateway.baseUrl, API_KEY: gateway.key, MODEL: model, CLIENTS_DIR: clientsDir, NODE: node },
      ...{ GATEWAY: '1', OPTIONAL: '1', MOCK_ADMIN: mockUrl, OUT: join(folder, 'out', wire), ONLY: only },
      ...{ EFFORT_MODEL: `${MODELS[wire]}-high`, OTHER_EFFORT: 'low', ...(effort === '' ? {} : { EFFORT: effort }) },
    }
  }
}

function configFor(mockUrl) {
  const place = { base_url: `${mockUrl}/v1`, api_key: 'mock-key', allow_private: true }
  const dialectFor = (wire) => {
    const dialect = wire in SERVERS && options.dialect !== '' ? options.dialect : SERVERS[wire]
    return dialect === undefined ? {} : { dialect }
  }
  return {
    upstreams: wires.map((wire) => ({
      ...{ id: `mock-${wire}`, wire, ...dialectFor(wire), ...place },
    })),
    models: wires.map((wire) => ({
      ...{ id: MODELS[wire], efforts: EFFORTS, context_tokens: 200_000, max_output_tokens: 32_000 },
      price: { input: '1.00', cached_input: '0.10', cache_write: '1.25', output: '5.00' },
      // Under another name, so that a name that is not translated back shows.
      lanes: [{ upstream: `mock-${wire}`, model: 'mock-model' }],
    })),
  }
}

/** Installs what the clients need; one that cannot be installed is named and left out. */
async function install(names, { harness, clientsDir }) {
  const unknown = names.filter((name) => !(name in CLIENTS))
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; known: ${Object.keys(CLIENTS).join(', ')}`)
  const left = []
  const groups = new Map()
  for (const name of names) {
    const { group } = CLIENTS[name]
    if (group !== undefined && !groups.has(group)) groups.set(group, await installGroup(group, { harness, clientsDir }))
    const why = group === undefined ? undefined : groups.get(group)
    if (why === undefined) left.push(name)
    else console.log(`not run: ${name} could not be installed (${why})`)
  }
  return left
}

/** Undefined when it is there, else the reason in one line. */
async function installGroup(group, { harness, clientsDir }) {
  const newerFirst = [dirname(node), process.env.PATH].join(delimiter)
  const env = { CLIENTS_DIR: clientsDir, PATH: newerFirst }
  const [command, args] = group in NEWER ? newerInstall(group, clientsDir) : ['bash', ['install.sh', group]]
  const { code, stdout, stderr } = await runToEnd(command, args, { cwd: harness, env, withinMs: 240_000 })
  return code === 0 ? undefined : `${stdout}${stderr}`.trim().split('\n').at(-1)
}

function newerInstall(group, clientsDir) {
  const folder = join(clientsDir, group)
  mkdirSync(folder, { recursive: true })
  return ['npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', NEWER[group]]]
}

/** Runs all scenarios of one client on one wire. */
async function drive(name, wire, { harness, env }) {
  const began = Date.now()
  const { stdout } = await runToEnd('bash', ['all.sh', name], { cwd: harness, env, withinMs: CLIENT_MS_MAX })
  const file = join(env.OUT, `${name}.txt`)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return { wire, stdout, lines, tookMs: Date.now() - began }
}

function count(name, { wire, stdout, lines, tookMs }) {
  let counted = 0
  for (const line of lines) {
    const [, state, client, scenario, rest = ''] = /^(PASS|FAIL) (\S+) (\S+)(.*)$/.exec(line) ?? []
    if (state === undefined) continue
    counted += 1
    tally.check(state === 'PASS', `${client} over ${wire} ${scenario}${rest}`)
  }
  const [, passes, fails] = new RegExp(`^${name}\\s+(\\d+)\\s+(\\S+)\\s+\\d+`, 'm').exec(stdout) ?? []
  const ended = passes !== undefined && /^\d+$/.test(fails)
  tally.check(ended && counted > 0, `${name} over ${wire} ran to its end: ${counted} scenarios in ${seconds(tookMs)}`)
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
