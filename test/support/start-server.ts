import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type OperationArgs,
  type OperationName,
  type OperationValue,
  runOperation,
} from '../../src/admin/operations.ts'
import type { Outcome } from '../../src/admin/outcome.ts'
import type { App, Overrides, Serving } from '../../src/app/app.ts'
import { openApp } from '../../src/app/create-app.ts'
import { type LoadedConfig, loadSettings } from '../../src/config/load-config.ts'
import type { ManagedEntry } from '../../src/contract/managed.ts'
import { openContent } from '../../src/db/content/open-content.ts'
import type { SqlStore } from '../../src/db/sql-store.ts'
import type { SqliteFile } from '../../src/db/sqlite/worker-messages.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { secureRandom } from '../../src/lib/random-id.ts'
import { loaded as loadedConfig } from '../fixtures/config/config.ts'
import { openWatchedDatabase, unwatchedDb } from './query-plans.ts'
import {
  databaseOf,
  dropDatabase,
  onPostgres,
  openTestPostgres,
  postgresUrl,
  type TestPostgres,
} from './server-on-postgres.ts'
import { TEST_CONFIG, withoutStrain } from './test-config.ts'
import { testStatus } from './test-status.ts'

export interface TestServer {
  readonly port: number
  /** Ends in /v1, as clients are given it. */
  readonly baseUrl: string
  /** The data folder. */
  readonly folder: string
  readonly app: App
  readonly serving: Serving
  /** The second database, for the queries of a test: the server locks it against other processes. */
  readonly content: Pick<SqlStore, 'all' | 'atomic'>
  /** Moves the server's time on: no test waits for an expiry or a limit. */
  advance(ms: number): void
  /** Steps the wall clock alone, forward or back, as an administrator or a broken time server would. */
  step(ms: number): void
  /** Reads another configuration: what a reload swaps is judged by it from now on. */
  reload(config: string): Promise<void>
  /** An operator's wish; a refusal is a failure of the test. */
  operate<Name extends OperationName>(name: Name, args: OperationArgs<Name>): Promise<OperationValue<Name>>
  /** The same, where being refused is what the test is about. */
  attempt(name: OperationName, args: unknown): Promise<Outcome<unknown>>
  close(): Promise<void>
}

export interface StartOptions {
  /** A data folder that was there before and stays there afterwards. */
  readonly folder?: string
  /** The text of a millrace.yaml. */
  readonly config?: string
  /** What lies in the data folder before the server opens it. */
  readonly prepare?: (folder: string) => Promise<void>
  /** Still: time passes by `advance` only, so that what depends on it is exact however busy the machine is. */
  readonly clock?: 'goes' | 'still'
  /** How far the wall clock is ahead of the true time from the start on. */
  readonly stepped?: number
  /** In files, also where the suite is on PostgreSQL. */
  readonly storage?: 'sqlite'
  /** Another way to the database of the server than straight, as its owner. */
  readonly postgresUrl?: (database: string) => string
  /** What the house is built with instead of what it would take itself. */
  readonly overrides?: Partial<Overrides>
}

/** The real house in this process: real SQLite file in a folder of its own, real sockets, a port that is free. */
export async function startServer(options: StartOptions = {}): Promise<TestServer> {
  const { config = TEST_CONFIG, prepare, clock = 'goes', overrides } = options
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'millrace-walk-')))
  await prepare?.(folder)
  await writeFile(join(folder, 'millrace.yaml'), withoutStrain(config))
  const load = (managed?: readonly ManagedEntry[]) =>
    loadSettings(
      { environment: { HOME: folder }, cwd: folder },
      { config: 'millrace.yaml', data: '.', port: 0, logLevel: 'silent' },
      managed,
    )
  const loaded = load()
  if (loaded.kind === 'invalid') throw new Error(loaded.message)
  const database = onPostgres && options.storage === undefined ? await databaseOf(folder) : undefined
  const inDatabase = (settings: LoadedConfig) =>
    database === undefined ? settings : withStorage(settings, database, options.postgresUrl)
  const settings = inDatabase(loaded.settings)
  const time = { ahead: 0, stepped: options.stepped ?? 0 }
  const files = keepContent()
  let postgres: TestPostgres | undefined
  const opened = await openApp({
    settings,
    loadSettings: (managed) => {
      const outcome = load(managed)
      return outcome.kind === 'loaded' ? { ...outcome, settings: inDatabase(outcome.settings) } : outcome
    },
    clock: clockAhead(time, clock === 'still' ? stopped(systemClock) : systemClock),
    random: secureRandom,
    purpose: 'server',
    overrides: {
      openDatabase: openWatchedDatabase,
      openContent: files.openContent,
      leaseNowMicros: systemClock.nowMicros,
      openPostgres: async (options) => {
        postgres = await openTestPostgres(options, { isStill: clock === 'still', ahead: time.ahead + time.stepped })
        files.keep(postgres.opened.content)
        return postgres.opened
      },
      ...overrides,
    },
  })
  if (opened.kind !== 'open') throw new Error(`The house did not open: ${JSON.stringify(opened)}`)
  const { app } = opened
  const { publicUrl } = settings.config.server
  const bound = { port: 0 }
  const status = () => testStatus({ app, serving, folder, publicUrl, ...bound })
  // More than the server may take: its clock must stay that of the ledger.
  const facts = { version: 'test', status, clock: { now: () => 0, nowMicros: () => 0 } }
  const serving = await app.openServing(facts)
  const listening = await serving.listen(settings.config.server)
  if (listening.kind !== 'listening') throw new Error(`The server does not listen: ${listening.kind}`)
  bound.port = listening.port
  const operations = { ...app.operations, status }
  return {
    port: listening.port,
    folder,
    baseUrl: `http://127.0.0.1:${listening.port}/v1`,
    app: { ...app, operations: { ...app.operations, db: unwatchedDb(app.operations.db) } },
    serving,
    content: files.content,
    advance(ms) {
      time.ahead += ms
      postgres?.advance(time.ahead, ms)
    },
    step(ms) {
      time.stepped += ms
    },
    reload: (text) => app.rules.replace(loadedConfig({ yaml: withoutStrain(text) }).config),
    attempt: (name, args) => runOperation(operations, name, args),
    async operate<Name extends OperationName>(name: Name, args: OperationArgs<Name>) {
      const outcome = await runOperation(operations, name, args)
      if (outcome.kind === 'refused') throw new Error(`${name}: ${outcome.message}`)
      return outcome.value as OperationValue<Name>
    },
    async close() {
      await app.close().finally(() => app.log.close())
      // The first of several nodes creates it, and is closed last.
      if (options.folder === undefined && database !== undefined && options.prepare === undefined)
        await dropDatabase(database)
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

const withStorage = (settings: LoadedConfig, database: string, urlFor = postgresUrl): LoadedConfig => ({
  ...settings,
  config: {
    ...settings.config,
    storage: { ...settings.config.storage, database: { kind: 'postgres', url: urlFor(database) } },
  },
})

/** Opens the second database as a house does, and remembers it. */
function keepContent() {
  let kept: SqlStore | undefined
  return {
    get content(): SqlStore {
      if (kept === undefined) throw new Error('the house has opened no second database')
      return kept
    },
    keep(content: SqlStore) {
      kept = content
    },
    openContent: async (where: Parameters<typeof openContent>[0]): Promise<SqliteFile> => {
      const content = await openContent(where)
      kept = content
      return content
    },
  }
}

const clockAhead = (time: { readonly ahead: number; readonly stepped: number }, clock: Clock): Clock => ({
  now: () => clock.now() + time.ahead + time.stepped,
  nowMicros: () => clock.nowMicros() + time.ahead * 1000,
})

function stopped(clock: Clock): Clock {
  const now = clock.now()
  const nowMicros = clock.nowMicros()
  return { now: () => now, nowMicros: () => nowMicros }
}
