import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OperationArgs, OperationName, OperationValue } from '../../src/admin/operations.ts'
import { openApp } from '../../src/app/create-app.ts'
import { createOperator, sendToServer } from '../../src/app/operator.ts'
import { loadSettings } from '../../src/config/load-config.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { LedgerDb } from '../../src/db/tables.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { secureRandom } from '../../src/lib/random-id.ts'
import { copyDist, type Replacement } from '../program/copies.mjs'
import * as program from '../program/program.mjs'
import { withoutStrain } from './test-config.ts'

export const OWNER = 'owner@example.com'

/** The whole program in a process of its own, with an account that has money and a key. */
export interface SpawnedServer {
  readonly port: number
  /** Ends in /v1. */
  readonly baseUrl: string
  readonly key: string
  readonly folder: string
  /** Everything that it has said, on both ways. */
  output(): string
  /** Its log lines so far that have this message. */
  logged(message: string): readonly Record<string, unknown>[]
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<program.Ended>
  /** Starts the program as it is on what is left, once it has ended; it listens on another port then. */
  restart(): Promise<void>
  /** Exactly this, so that it may be nonsense: a busy machine sheds unless it says `withoutStrain`. */
  writeConfig(text: string): Promise<void>
  /** A command of the operator. */
  run(...args: readonly string[]): Promise<program.Ended>
  /** What it prints with `--json`; one that fails is thrown. */
  json(...args: readonly string[]): Promise<Record<string, unknown>>
  /** An operator's wish through the admin socket: quicker than a command. */
  operate<Name extends OperationName>(name: Name): Promise<OperationValue<Name>>
  /** The rows of its books; only once it has ended. */
  readLedgerRows<Answer>(question: (db: LedgerDb) => Promise<Answer>): Promise<Answer>
  /** Ends it if it still runs, and deletes its folder. */
  close(): Promise<void>
}

export interface SpawnOptions {
  readonly config: string
  readonly environment?: Readonly<Record<string, string>>
  /** Something happens at one exact place of the program, until it is started again. */
  readonly replacement?: Replacement
}

export async function spawnServer({ config, environment = {}, replacement }: SpawnOptions): Promise<SpawnedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-spawn-'))
  const place = program.placeIn(folder, { environment: { MILLRACE_SERVER__METRICS_PORT: '0', ...environment } })
  const changed = replacement && copyDist(place.dist, [replacement])
  let server: program.ServerProcess | undefined
  const close = async () => {
    server?.kill('SIGKILL')
    await server?.ended
    changed?.clear()
    await rm(folder, { recursive: true })
  }
  try {
    await writeFile(place.config, withoutStrain(config))
    const { files, key } = await preparedData()
    await mkdir(place.data, { mode: 0o700 })
    for (const [name, bytes] of files) await writeFile(join(place.data, name), bytes, { mode: 0o600 })
    server = program.startServer({ ...place, ...(changed && { dist: changed.dist }) })
    const first = { server, url: await server.ready }
    return Object.assign(
      handle(place, first, async () => {
        server = program.startServer(place)
        return { server, url: await server.ready }
      }),
      { key, folder, close },
    )
  } catch (error) {
    await close()
    throw error
  }
}

interface PreparedData {
  readonly files: readonly (readonly [name: string, bytes: Buffer])[]
  readonly key: string
}

let prepared: Promise<PreparedData> | undefined

/** The data folder of an account with money and a key. Three commands in processes of their own would take longer than the server's start. */
function preparedData(): Promise<PreparedData> {
  prepared ??= prepareData()
  return prepared
}

async function prepareData(): Promise<PreparedData> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-prepare-'))
  const operator = createOperator({
    version: 'test',
    node: process.version,
    program: 'millrace',
    clock: systemClock,
    random: secureRandom,
    openApp,
    loadSettings: (place) => loadSettings({ environment: { HOME: folder }, cwd: folder }, place),
    pause: () => Promise.resolve(),
  })
  const operate = async <Name extends OperationName>(name: Name, args: OperationArgs<Name>) => {
    const answer = await operator.call({ config: undefined, data: folder }, name, args)
    if (answer.kind !== 'done') throw new Error(`${name}: ${JSON.stringify(answer)}`)
    return answer.value
  }
  try {
    await operate('accounts.create', { email: OWNER })
    await operate('wallet.credit', { account: OWNER, amount: '1000.00', reason: 'test', ref: 'first' })
    const { key } = await operate('keys.create', { account: OWNER, kind: 'wallet', name: 'test' })
    const names = await readdir(folder)
    return {
      key,
      files: await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface Life {
  readonly server: program.ServerProcess
  readonly url: string
}

function handle(place: program.Place, first: Life, again: () => Promise<Life>) {
  let life = first
  return {
    get port() {
      return Number(new URL(life.url).port)
    },
    get baseUrl() {
      return `${life.url}/v1`
    },
    output: () => life.server.output(),
    logged: (message: string) => linesOf(life.server.output()).filter(({ msg }) => String(msg).includes(message)),
    kill: (signal: NodeJS.Signals) => life.server.kill(signal),
    get ended() {
      return life.server.ended
    },
    async restart() {
      life = await again()
    },
    writeConfig: (text: string) => writeFile(place.config, text),
    run: (...args: readonly string[]) => program.runCommand(place, args),
    json: (...args: readonly string[]) => program.millrace(place, ...args),
    async operate<Name extends OperationName>(operation: Name) {
      const { socket, version } = JSON.parse(await readFile(join(place.data, 'server.json'), 'utf8'))
      const reply = await sendToServer(socket, { version, operation, args: {} })
      if (reply.kind !== 'reply' || reply.answer.kind !== 'answered' || reply.answer.outcome.kind !== 'done')
        throw new Error(`${operation}: ${JSON.stringify(reply)}`)
      return reply.answer.outcome.value as OperationValue<Name>
    },
    async readLedgerRows<Answer>(question: (db: LedgerDb) => Promise<Answer>) {
      const database = await openDatabase({ path: join(place.data, 'ledger.db'), clock: systemClock })
      return question(database.db).finally(() => database.close())
    },
  }
}

/** Log lines are objects; what else is said is not. The last line may be half. */
const linesOf = (text: string): Record<string, unknown>[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : []))
