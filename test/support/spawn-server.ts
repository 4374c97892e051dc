import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OperationName, OperationValue } from '../../src/account/operations.ts'
import { askServer } from '../../src/app/admin/ask-server.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openDatabase } from '../../src/store/open-database.ts'
import type { LedgerDb } from '../../src/store/tables.ts'
import { withoutStrain } from './test-config.ts'
import { until } from './until.ts'

/** The program as it is shipped: `npm test` builds it first. */
const PROGRAM = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url))
const OWNER = 'owner@example.com'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The whole program in a process of its own, with an account that has money and a key. */
export interface SpawnedServer {
  readonly port: number
  /** Ends in /v1. */
  readonly baseUrl: string
  readonly key: string
  readonly folder: string
  /** Everything that it has said, on both ways. */
  said(): string
  /** Its log lines so far that have this message. */
  logged(message: string): readonly Record<string, unknown>[]
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<Ended>
  /** Starts it again on what is left, once it has ended; it listens on another port then. */
  restart(): Promise<void>
  /** Exactly this, so that it may be nonsense: a busy machine sheds unless it says `withoutStrain`. */
  writeConfig(text: string): Promise<void>
  /** A command of the operator. */
  run(...args: readonly string[]): Promise<Ended>
  json(...args: readonly string[]): Promise<Record<string, unknown>>
  /** An operator's wish through the admin socket: quicker than a command. */
  operate<Name extends OperationName>(name: Name): Promise<OperationValue<Name>>
  /** The rows of its books; only once it has ended. */
  readBooks<Answer>(question: (db: LedgerDb) => Promise<Answer>): Promise<Answer>
  /** Ends it if it still runs, and deletes its folder. */
  close(): Promise<void>
}

export interface SpawnOptions {
  readonly config: string
  readonly environment?: Readonly<Record<string, string>>
}

export async function spawnServer(options: SpawnOptions): Promise<SpawnedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-spawn-'))
  const children: ChildProcess[] = []
  const close = async () => {
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    await Promise.all(running.map((child) => endOf(child)))
    await rm(folder, { recursive: true })
  }
  try {
    return Object.assign(await open(folder, children, options), { close })
  } catch (error) {
    await close()
    throw error
  }
}

async function open(
  folder: string,
  children: ChildProcess[],
  { config, environment = {} }: SpawnOptions,
): Promise<Omit<SpawnedServer, 'close'>> {
  const configPath = join(folder, 'millrace.yaml')
  const data = join(folder, 'data')
  const writeConfig = (text: string) => writeFile(configPath, text)
  await writeConfig(withoutStrain(config))
  const start = (...args: readonly string[]) => {
    const child = spawn(process.execPath, [PROGRAM, ...args, '--config', configPath, '--data', data], {
      cwd: folder,
      env: { HOME: folder, MILLRACE_SERVER__METRICS_PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    return child
  }
  const run = (...args: readonly string[]) => listenTo(start(...args)).ended
  const json = async (...args: readonly string[]) => {
    const { code, out, err } = await run(...args, '--json')
    if (code !== 0) throw new Error(`millrace ${args.join(' ')} ended with ${code}: ${err}${out}`)
    return JSON.parse(out)
  }
  await json('accounts', 'create', '--email', OWNER)
  await json('wallet', 'credit', OWNER, '1000.00', '--reason', 'test', '--ref', 'first')
  const { key } = await json('keys', 'create', '--account', OWNER, '--kind', 'wallet', '--name', 'test')

  const serve = async () => {
    const child = start('serve', '--port', '0', '--log-format', 'json')
    const { said, ended } = listenTo(child)
    const over = ended.then(({ err, out }) => {
      throw new Error(`the server ended before it was ready: ${err}${out}`)
    })
    over.catch(() => {})
    await Promise.race([until(() => said().includes('"ready"')), over])
    const { url, version, socket } = JSON.parse(await readFile(join(data, 'server.json'), 'utf8'))
    return { child, said, ended, url, version, socket }
  }
  let running = await serve()
  return {
    get port() {
      return Number(new URL(running.url).port)
    },
    get baseUrl() {
      return `${running.url}/v1`
    },
    key,
    folder,
    said: () => running.said(),
    logged: (message) => linesOf(running.said()).filter(({ msg }) => String(msg).includes(message)),
    kill: (signal) => void running.child.kill(signal),
    get ended() {
      return running.ended
    },
    async restart() {
      running = await serve()
    },
    writeConfig,
    run,
    json,
    async operate<Name extends OperationName>(operation: Name) {
      const { socket, version } = running
      const reply = await askServer(socket, { version, operation, args: {} })
      if (reply.kind !== 'reply' || reply.answer.kind !== 'answered' || reply.answer.outcome.kind !== 'done')
        throw new Error(`${operation}: ${JSON.stringify(reply)}`)
      return reply.answer.outcome.value as OperationValue<Name>
    },
    async readBooks(question) {
      const database = await openDatabase({ path: join(data, 'ledger.db'), clock: systemClock })
      return question(database.db).finally(() => database.close())
    },
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
}

function listenTo(child: ChildProcess) {
  const heard = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    heard.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    heard.err += text
  })
  const ended = once(child, 'close').then(([code]): Ended => ({ code, ...heard }))
  return { said: () => heard.out + heard.err, ended }
}

/** Log lines are objects; what else is said is not. The last line may be half. */
const linesOf = (text: string): Record<string, unknown>[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : []))
