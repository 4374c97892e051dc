// The program under test, as it is shipped, in processes of its own. Every suite that starts one does it here.
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** What `npm test` builds first. */
export const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
/** As docs/operate/running.md says that a service is started. */
const SERVING_FLAGS = ['--max-semi-space-size=64']
const SERVING_ENVIRONMENT = { MALLOC_MMAP_THRESHOLD_: '131072' }
const LOOK_MS = 5

/** The product, its configuration, its data and what its environment says, where everything lies in one folder. */
export const placeIn = (folder, { dist = DIST, environment = {} } = {}) => ({
  dist,
  environment,
  config: join(folder, 'millrace.yaml'),
  data: join(folder, 'data'),
})

/** What Node is given to run a command. */
export const commandAt = ({ dist, config, data }, ...words) => [
  join(dist, 'app', 'main.js'),
  ...words,
  '--config',
  config,
  '--data',
  data,
]

/** One command of the operator, to its end, however that comes out. */
export const runCommand = (place, words) => listenTo(start(place, commandAt(place, ...words))).ended

/** What the command prints with `--json`. One that fails is thrown, with how it ended. */
export async function millrace(place, ...words) {
  const ended = await runCommand(place, [...words, '--json'])
  if (ended.code === 0) return JSON.parse(ended.out)
  throw Object.assign(
    new Error(`millrace ${words.join(' ')} ended with ${ended.code}: ${ended.err}${ended.out}`),
    ended,
  )
}

/** The report of `db verify`, which ends with exit code 1 when the books do not hold. */
export async function verifyLedger(place) {
  const { out, err } = await runCommand(place, ['db', 'verify', '--json'])
  if (out === '') throw new Error(`db verify said nothing: ${err}`)
  const report = JSON.parse(out)
  if (report.error !== undefined) throw new Error(`db verify did not read the books: ${report.error.message}`)
  return report
}

/** The one command that begins a ledger, and only in a folder that is there. */
export async function createBareAccount(place, email) {
  mkdirSync(place.data, { recursive: true })
  await millrace(place, 'accounts', 'create', '--email', email)
}

/** With money, and on a plan where one is named. */
export async function createAccount(place, { email, credit = '1000.00', plan }) {
  await createBareAccount(place, email)
  await millrace(place, 'wallet', 'credit', email, credit, '--reason', 'test', '--ref', 'first')
  if (plan !== undefined) await millrace(place, 'plans', 'assign', email, plan)
}

/** Its id and its secret. `more` are further options of the command. */
export const createKey = (place, { email, kind = 'wallet', name = 'test', more = [] }) =>
  millrace(place, 'keys', 'create', '--account', email, '--kind', kind, '--name', name, ...more)

/**
 * A server that is starting; `ready` resolves to its address, or says why it will not. What it says is kept, or goes to the
 * file that is named. It ends with this process at the latest.
 */
export function startServer(place, { port = 0, nodeFlags = [], logPath, logFormat = 'json' } = {}) {
  const command = commandAt(place, 'serve', '--port', String(port), '--log-format', logFormat)
  const environment = { ...SERVING_ENVIRONMENT, ...place.environment }
  const child = start({ ...place, environment }, [...SERVING_FLAGS, ...nodeFlags, ...command], logPath)
  const { ended, parsedOutput } = listenTo(child)
  const emitted = () => (logPath === undefined ? parsedOutput.out + parsedOutput.err : readFileSync(logPath, 'utf8'))
  const ready = addressOf(place, child).then((url) => {
    if (url !== undefined) return url
    throw new Error(`the server ended before it was ready:\n${emitted().slice(-4000)}`)
  })
  ready.catch(() => {})
  return {
    pid: child.pid,
    ready,
    ended,
    output: emitted,
    get isOver() {
      return isOver(child)
    },
    kill: (signal) => child.kill(signal),
  }
}

/** Nothing of the environment around us shall decide what is tested. */
function start({ config, environment }, args, logPath) {
  const home = dirname(config)
  const log = logPath === undefined ? 'pipe' : openSync(logPath, 'a')
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: { HOME: home, PATH: process.env.PATH, ...environment },
    stdio: ['ignore', log, log],
  })
  if (log !== 'pipe') closeSync(log)
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return child
}

const isOver = ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null

function listenTo(child) {
  const parsedOutput = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    parsedOutput.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    parsedOutput.err += text
  })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code: signal ?? code, ...parsedOutput }))
  })
  return { parsedOutput, ended }
}

/** Where it listens, by its own note: one that another process has left there is that one's. */
async function addressOf({ data }, child) {
  while (!isOver(child)) {
    try {
      const { pid, url } = JSON.parse(readFileSync(join(data, 'server.json'), 'utf8'))
      if (pid === child.pid && url !== null) return url
    } catch {
      // It is not written yet.
    }
    await pause(LOOK_MS)
  }
  return undefined
}
