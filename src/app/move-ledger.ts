import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { verifyAudit } from '../admin/audit.ts'
import {
  EXIT,
  type ExitCode,
  type MoveOutcome,
  type MoveReport,
  type MoveRequest,
  type Place,
} from '../cli/cli-services.ts'
import type { Config } from '../config/config.ts'
import type { SettingsOutcome } from '../config/load-config.ts'
import {
  compareTables,
  copyTables,
  MoveRefused,
  type MoveSource,
  type MoveTarget,
  refuseJournaled,
} from '../db/move/move.ts'
import { PostgresUnusable } from '../db/postgres/install.ts'
import type { PostgresPool } from '../db/postgres/pool.ts'
import { DatabaseLocked, describeTrouble } from '../db/sqlite/failure.ts'
import { proveOnPostgres } from '../ledger/postgres/proof.ts'
import { verifyLedgerState } from '../ledger/verify.ts'
import type { Clock } from '../lib/clock.ts'
import { makeDataFolder, writePrivately } from '../lib/files.ts'
import { whyBackup } from './data-folder.ts'
import { loadKeyring } from './key-ring.ts'
import { describeHolder, isServed } from './server-note.ts'

interface MoveServices {
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly cwd: string
  readonly clock: Clock
  readonly loadSettings: (place: Place) => SettingsOutcome
  /** Tests run without fsync. */
  readonly mayLoseCommits?: boolean
}

/** What to move from where, once it is known to be possible. */
interface Move {
  readonly config: Config
  readonly data: string
  /** A folder, when PostgreSQL is the source. */
  readonly folder: string | undefined
  readonly to: string
}

const refused = (exit: ExitCode, message: string): MoveOutcome => ({ kind: 'refused', exit, message })
const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\/./.test(text)

/** Copies the ledger of the configured storage into the other kind of storage, and compares and verifies it there. */
export async function moveLedger(services: MoveServices, place: Place, request: MoveRequest): Promise<MoveOutcome> {
  const loaded = services.loadSettings(place)
  if (loaded.kind === 'invalid') return refused(EXIT.usage, loaded.message)
  const { config } = loaded.settings
  const { data, database } = config.storage
  const toPostgres = isPostgresUrl(request.to)
  if (toPostgres === (database.kind === 'postgres'))
    return refused(
      EXIT.usage,
      toPostgres
        ? 'The ledger is in PostgreSQL already (storage.database). --to takes a folder.'
        : 'The ledger is in a folder already. --to takes postgres://user:password@host/name. To move a folder, stop the server and copy it whole.',
    )
  if (await isServed(data)) return inUse(services, data)
  if (!toPostgres && /^\w+:\/\//.test(request.to)) return refused(EXIT.usage, '--to takes a folder or postgres://…')
  const folder = toPostgres ? undefined : resolve(services.cwd, request.to)
  try {
    return await run(services, { config, data, folder, to: request.to }, request)
  } catch (error) {
    if (error instanceof MoveRefused || error instanceof PostgresUnusable) return refused(EXIT.failure, error.message)
    if (error instanceof DatabaseLocked) return inUse(services, data)
    const trouble = describeTrouble(folder ?? data, error)
    if (trouble !== undefined) return refused(EXIT.failure, trouble)
    throw error
  }
}

const inUse = async ({ program }: MoveServices, data: string): Promise<MoveOutcome> =>
  refused(
    EXIT.cannotBind,
    `A ledger moves while nothing runs on it: stop the server first. ${await describeHolder(data, program)}`,
  )

async function run(services: MoveServices, move: Move, { onStep }: MoveRequest): Promise<MoveOutcome> {
  onStep('Opening both sides')
  const source = await openSource(move)
  try {
    const ring = await findRing(source, move)
    const target = await openTarget(services, move)
    try {
      onStep('Copying')
      const read = await copyTables(source, target)
      onStep('Comparing')
      const tables = await compareTables(target, read)
      onStep('Verifying the ledger in the new place')
      const checks = await prove(target)
      const ok = tables.every(({ equal }) => equal) && checks.every(({ violations }) => violations === 0)
      if (ok) {
        if (move.folder !== undefined && ring !== undefined) await placeRing(ring, move.folder)
        await target.finish()
      }
      const report: MoveReport = { ok, from: source.kind, to: target.kind, tables, checks, next: nextSteps(move, ring) }
      return { kind: 'done', report }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function openSource({ config, data }: Move): Promise<MoveSource> {
  const { database } = config.storage
  if (database.kind === 'postgres') {
    await refuseJournaled(data)
    const { openPostgresSource } = await import('../db/move/postgres-side.ts')
    return openPostgresSource({ url: database.url, named: 'storage.database' })
  }
  if (!existsSync(join(data, 'ledger.db')))
    throw new MoveRefused(`There is no ledger in ${data}. Name the right folder with --data or storage.data.`)
  const backup = whyBackup(data)
  if (backup !== undefined) throw new MoveRefused(backup)
  const { openSqliteSource } = await import('../db/move/sqlite-side.ts')
  return openSqliteSource(data)
}

async function openTarget({ clock, mayLoseCommits }: MoveServices, { config, folder, to }: Move): Promise<MoveTarget> {
  if (folder === undefined) {
    const { openPostgresTarget } = await import('../db/move/postgres-side.ts')
    const prove = (pool: PostgresPool) => proveOnPostgres(pool, { whole: true })
    return openPostgresTarget({
      url: to,
      named: '--to',
      prove,
      mayLoseCommits: mayLoseCommits ?? config.storage.mayLoseCommits,
    })
  }
  await makeDataFolder(folder)
  const { openSqliteTarget } = await import('../db/move/sqlite-side.ts')
  return openSqliteTarget({ folder, clock })
}

/** The path of the key ring that opens this ledger; undefined when its secrets come from the environment. */
async function findRing({ sealedBy }: MoveSource, { config, data, folder }: Move): Promise<string | undefined> {
  const secretFromEnvironment = config.keyring.secretKey
  const path = join(data, 'keyring.json')
  if (sealedBy === undefined)
    throw new MoveRefused('No server has started on this ledger yet, so there is nothing to move.')
  if (secretFromEnvironment === undefined && !existsSync(path))
    throw new MoveRefused(
      `${path} is missing. Put it back, or set MILLRACE_SECRET_KEY if the ledger was begun with that.`,
    )
  await refuseOtherRing(data, secretFromEnvironment, sealedBy)
  if (secretFromEnvironment !== undefined) return undefined
  if (folder !== undefined && existsSync(join(folder, 'keyring.json')))
    await refuseOtherRing(folder, undefined, sealedBy)
  return path
}

async function refuseOtherRing(dataDir: string, secretFromEnvironment: string | undefined, sealedBy: string) {
  const { keys } = await loadKeyring({ dataDir, secretFromEnvironment })
  if (keys.some(({ id }) => id === sealedBy)) return
  const ring = secretFromEnvironment === undefined ? join(dataDir, 'keyring.json') : 'MILLRACE_SECRET_KEY'
  throw new MoveRefused(`The key that this ledger was begun with is not in ${ring}. See docs/operate/key-ring.md.`)
}

/** Before the ledger, which no server could read without it. */
async function placeRing(ring: string, folder: string): Promise<void> {
  const path = join(folder, 'keyring.json')
  if (!existsSync(path)) await writePrivately(path, await readFile(ring, 'utf8'))
}

function nextSteps({ folder, data }: Move, ring: string | undefined): string[] {
  const secret =
    ring === undefined ? 'Keep MILLRACE_SECRET_KEY as it is: the ledger can only be read with it.' : undefined
  if (folder !== undefined)
    return [
      `Set storage.data to ${folder} and remove storage.database, then start the server.`,
      secret ?? `keyring.json is in ${folder} too. Keep it with ledger.db.`,
    ]
  return [
    'Set storage.database to the URL of --to, then start the server.',
    secret ??
      `Copy ${ring} into the data folder of every node, readable for its user alone (mode 0600): the ledger can only be read with it.`,
    `Put ledger.db and content.db in ${data} away: they are not used any more, and do not change.`,
  ]
}

/** As `db verify` does. */
async function prove({ db, proveBooks }: MoveTarget): Promise<MoveReport['checks']> {
  const { checks } = proveBooks === undefined ? (await verifyLedgerState({ db })).report : await proveBooks()
  const { violations } = await verifyAudit({ db })
  return [...checks, { name: 'the audit log is one unbroken chain', violations }]
}
