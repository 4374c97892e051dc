import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { appendFile, link, open, readFile, rename, rm, rmdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { Kysely } from 'kysely'
import { COMMAND_LINE, createAuditLog } from '../admin/audit.ts'
import { isoTime } from '../admin/values.ts'
import { EXIT, type ExitCode, type Place, type RestoreOutcome, type RestoreRequest } from '../cli/cli-services.ts'
import type { Config } from '../config/config.ts'
import type { SettingsOutcome } from '../config/load-config.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import { ledgerMigrations } from '../db/migrations/ledger-migrations.ts'
import { findLatestLedgerTime } from '../db/receipts.ts'
import { DatabaseLocked, describeTrouble } from '../db/sqlite/failure.ts'
import { isNewest, isOlder } from '../db/sqlite/migrate.ts'
import { openSqlite } from '../db/sqlite/open-sqlite.ts'
import type { LedgerTables } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import {
  bytesOf,
  giveTo,
  makeDataFolder,
  ownerFor,
  syncFolder,
  unfinishedMove,
  unfinishedRestore,
  whyDiskFull,
  whyNotWritten,
} from '../lib/files.ts'
import { type BackupManifest, FILES_OF_BACKUP, readManifest, sumOf } from './backup.ts'
import { loadKeyring, peekKeyring } from './key-ring.ts'
import { describeHolder, findRunningServer, isServed } from './server-note.ts'

interface RestoreServices {
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly cwd: string
  readonly clock: Clock
  readonly loadSettings: (place: Place) => SettingsOutcome
}

interface Restore {
  readonly services: RestoreServices
  /** The backup. */
  readonly folder: string
  readonly manifest: BackupManifest
  /** The data folder. */
  readonly data: string
  onStep(step: string): void
}

const refused = (exit: ExitCode, message: string): RestoreOutcome => ({ kind: 'refused', exit, message })

/** Restores that were made of a backup, one a line: two servers from one backup are two ledgers that contradict each other. */
const RESTORES = 'restored.log'

/**
 * Copies a backup into a data folder without a ledger. Each file is compared with its sum before it gets its name. Refused, it leaves
 * nothing; killed, it is repeated: the files that have their names already are recognised by their sums.
 */
export async function restoreLedger(
  services: RestoreServices,
  place: Place,
  { from, onStep }: RestoreRequest,
): Promise<RestoreOutcome> {
  const loaded = services.loadSettings(place)
  if (loaded.kind === 'invalid') return refused(EXIT.usage, loaded.message)
  const { config } = loaded.settings
  const { data, database } = config.storage
  if (database.kind === 'postgres')
    return refused(
      EXIT.failure,
      'The ledger is in PostgreSQL (storage.database), which is restored with its own tools. See docs/operate/postgres.md, Backup.',
    )
  const folder = resolve(services.cwd, from)
  const read = await readManifest(folder)
  if (read.kind === 'refused') return refused(EXIT.failure, read.message)
  const { manifest } = read
  if (await isServed(data))
    return refused(EXIT.cannotBind, `Stop the server first. ${await describeHolder(data, services.program)}`)
  const restore = { services, folder, manifest, data, onStep }
  const why = whyNoFolder(data) ?? (await whyUnreadable(config, manifest)) ?? (await whyNoRoom(restore))
  if (why !== undefined) return refused(EXIT.failure, why)
  try {
    return await whileLocked(data, () => runRestore(restore))
  } catch (error) {
    if (error instanceof RestoreRefused) return refused(EXIT.failure, error.message)
    if (error instanceof DatabaseLocked)
      return refused(EXIT.cannotBind, `Another restore into ${data} is running. Wait for its end.`)
    const reason = whyNotWritten(error)
    const message = reason && `The backup cannot be copied into ${data}: ${reason}. To use another folder: --data`
    const trouble = message ?? describeTrouble(data, error)
    if (trouble === undefined) throw error
    return refused(EXIT.failure, trouble)
  }
}

class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
}

const unfinished = (data: string, name: string): string => unfinishedRestore(join(data, name))
const WITH_COMPANIONS = ['', '-wal', '-shm', '-journal']

/** Two restores would write into the same files. Creates the data folder, and deletes it again if the restore is refused. */
async function whileLocked<Result>(data: string, work: () => Promise<Result>): Promise<Result> {
  const isNew = !existsSync(data)
  const owner = await ownerFor(data)
  await makeDataFolder(data)
  await giveTo(owner, [data])
  try {
    const lock = await openSqlite({ path: unfinished(data, 'lock') })
    try {
      return await work()
    } finally {
      for (const name of FILES_OF_BACKUP) await deleteUnfinished(data, name)
      await lock.close()
      await deleteUnfinished(data, 'lock')
    }
  } catch (error) {
    if (isNew) await rmdir(data).catch(() => {})
    throw error
  }
}

async function deleteUnfinished(data: string, name: string): Promise<void> {
  for (const companion of WITH_COMPANIONS) await rm(`${unfinished(data, name)}${companion}`, { force: true })
}

async function runRestore(restore: Restore): Promise<RestoreOutcome> {
  const { services, folder, manifest, data, onStep } = restore
  for (const name of FILES_OF_BACKUP) await deleteUnfinished(data, name)
  const placed = await findPlaced(restore)
  refuseLedger(data, placed)
  await refuseIncomplete(restore, placed)
  onStep('Copying')
  const files = manifest.files.filter(({ name }) => !placed.has(name))
  for (const file of files) await copyVerified(folder, data, file)
  onStep('Recording the restore')
  await record(restore)
  const copied = FILES_OF_BACKUP.map((name) => unfinished(data, name)).filter((path) => existsSync(path))
  await giveTo(await ownerFor(data), copied)
  if (await isServed(data)) throw new RestoreRefused(`A server has started meanwhile on ${data}. Stop it first.`)
  refuseLedger(data, placed)
  await placeAll(data)
  await syncFolder(data)
  const warnings = await warningsOf(restore)
  await noteRestore(services, folder, data)
  const { id, taken_at, counts } = manifest
  return { kind: 'done', report: { data, id, taken_at, counts, warnings, next: nextSteps(data, manifest) } }
}

/** Some file systems, such as FAT, have no second names. */
const HAS_NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** ledger.db is the last: without it, nothing starts on the other files. */
async function placeAll(data: string): Promise<void> {
  const placed: string[] = []
  try {
    for (const name of [...FILES_OF_BACKUP].reverse()) {
      if (!existsSync(unfinished(data, name))) continue
      await placeNew(unfinished(data, name), join(data, name))
      placed.push(join(data, name))
    }
  } catch (error) {
    for (const path of placed) await rm(path, { force: true })
    throw error
  }
}

/** Gives a file its name, unless there is one of that name: a server that has just started owns it. */
async function placeNew(from: string, to: string): Promise<void> {
  const taken = () => new RestoreRefused(`${to} has come to be meanwhile: a restore overwrites nothing.`)
  try {
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || (HAS_NO_LINKS.has(code) && existsSync(to))) throw taken()
    if (!HAS_NO_LINKS.has(code)) throw error
    await rename(from, to)
  }
}

function whyNoFolder(data: string): string | undefined {
  try {
    const isFile = statSync(data, { throwIfNoEntry: false })?.isDirectory() === false
    return isFile ? `${data} is a file, not a data folder.` : undefined
  } catch (error) {
    return `${data} cannot be used: ${whyNotWritten(error) ?? (error as Error).message}. Name another folder with --data.`
  }
}

/** Files of other programs may be there, such as the configuration. */
function refuseLedger(data: string, placed: ReadonlySet<string>): void {
  const logs = ['ledger.db', 'content.db'].flatMap((name) => [`${name}-wal`, `${name}-journal`])
  const names = [...FILES_OF_BACKUP, ...logs, unfinishedMove('ledger.db')]
  const there = names.filter((name) => !placed.has(name) && existsSync(join(data, name)))
  if (there.length === 0) return
  throw new RestoreRefused(
    `${data} has a ledger already (${there.join(', ')}). Move the whole folder away, or name another one with --data: a restore overwrites nothing.`,
  )
}

/** What the data folder has already: files that a killed restore of this backup has placed, and a key ring that was put there. */
async function findPlaced({ data, folder, manifest: { files, key_ring } }: Restore): Promise<ReadonlySet<string>> {
  const placed = new Set<string>()
  if (existsSync(join(data, 'ledger.db'))) return placed
  for (const { name, bytes, sha256 } of files) {
    const path = join(data, name)
    if (statSync(path, { throwIfNoEntry: false })?.size !== bytes) continue
    if ((await sumOf(path)) === sha256) placed.add(name)
  }
  const ring = join(data, 'keyring.json')
  if (placed.has('keyring.json') || !existsSync(ring)) return placed
  if (files.some(({ name }) => name === 'keyring.json'))
    throw new RestoreRefused(
      `${ring} is another key ring than that of the backup (${join(folder, 'keyring.json')}). Move it away, and restore again.`,
    )
  const ids = peekKeyring({ dataDir: data, secretFromEnvironment: undefined })
  if (key_ring.where === 'apart' && ids?.includes(key_ring.founding) === false)
    throw new RestoreRefused(
      `${ring} does not have the key that the ledger of this backup was begun with. Put the key ring of that ledger there, and restore again.`,
    )
  return placed.add('keyring.json')
}

/** Before anything is copied. The sums are compared while it is. */
async function refuseIncomplete({ folder, data, manifest }: Restore, placed: ReadonlySet<string>): Promise<void> {
  for (const { name, bytes } of manifest.files) {
    const found = placed.has(name) ? undefined : await stat(join(folder, name)).catch(sourceFailure(folder, name, data))
    if (found !== undefined && (!found.isFile() || found.size !== bytes)) throw damaged(folder, name)
  }
}

const ANOTHER = 'Take another backup, or an earlier copy of this one.'
const damaged = (folder: string, name: string) =>
  new RestoreRefused(`${join(folder, name)} is not what it was when the backup was made. ${ANOTHER}`)

const sourceFailure =
  (folder: string, name: string, data: string) =>
  ({ code, message }: NodeJS.ErrnoException): never => {
    const path = join(folder, name)
    if (code !== 'ENOENT')
      throw new RestoreRefused(`${path} cannot be read: ${message}. Run this as the owner of the backup.`)
    const cure = `Nothing starts without the key ring, and MILLRACE_SECRET_KEY does not replace it. Put the keyring.json of this ledger there, or into ${data} (mode 0600), and restore again.`
    throw new RestoreRefused(`${path} is missing. ${name === 'keyring.json' ? cure : ANOTHER}`)
  }

/** Whether a server with this configuration could read what is restored. */
async function whyUnreadable({ keyring }: Config, { key_ring }: BackupManifest): Promise<string | undefined> {
  if (keyring.secretKey === undefined)
    return key_ring.where === 'environment'
      ? 'The server of this backup had its key ring from MILLRACE_SECRET_KEY, which is not set here. Set it as it was there, or MILLRACE_SECRET_KEY_FILE: nothing can be read without it.'
      : undefined
  const { keys } = await loadKeyring({ dataDir: '', secretFromEnvironment: keyring.secretKey })
  if (keys.some(({ id }) => id === key_ring.founding)) return undefined
  return key_ring.where === 'environment'
    ? 'MILLRACE_SECRET_KEY is set, but not to the secret that the ledger of this backup was begun with.'
    : 'MILLRACE_SECRET_KEY is set, but the ledger of this backup was begun with its keyring.json. Unset it, and restore again.'
}

/** What a killed restore has left makes room. */
async function whyNoRoom({ data, manifest: { files } }: Restore): Promise<string | undefined> {
  const left = bytesOf(files.flatMap(({ name }) => [join(data, name), unfinished(data, name)]))
  return whyDiskFull(
    data,
    files.reduce((sum, { bytes }) => sum + bytes, -left),
  )
}

const PIECE_BYTES = 1024 * 1024

async function copyVerified(folder: string, data: string, { name, bytes, sha256 }: BackupManifest['files'][number]) {
  const source = await open(join(folder, name), 'r').catch(sourceFailure(folder, name, data))
  const written = await open(unfinished(data, name), 'wx', 0o600)
  const hash = createHash('sha256')
  let at = 0
  try {
    for (const piece = Buffer.allocUnsafe(PIECE_BYTES); ; ) {
      const { bytesRead } = await source.read(piece, 0, PIECE_BYTES, at)
      if (bytesRead === 0) break
      const part = piece.subarray(0, bytesRead)
      hash.update(part)
      await written.writeFile(part)
      at += bytesRead
    }
    await written.sync()
  } finally {
    await source.close()
    await written.close()
  }
  if (at !== bytes || hash.digest('hex') !== sha256) throw damaged(folder, name)
}

/** The audit log says from when on the ledger is another one than that of the server it was copied from. */
async function record({
  services: { clock },
  data,
  folder,
  manifest: { id, taken_at, version },
}: Restore): Promise<void> {
  const path = unfinished(data, 'ledger.db')
  const file = await openSqlite({ path })
  try {
    if (!(await isNewest(file, ledgerMigrations)) && !(await isOlder(file, ledgerMigrations)))
      throw new RestoreRefused(
        `This backup was made by millrace ${version}, which is newer than this one. Restore it with that version.`,
      )
    const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(file) })
    // Ledger time never runs backwards, whatever this machine's clock shows.
    const at = Math.max(clock.now(), await findLatestLedgerTime(db))
    const audit = createAuditLog({ db, file, clock: { ...clock, now: () => at } })
    const detail = `backup ${id} of ${taken_at}, from ${folder}`
    await audit.record({ actor: COMMAND_LINE, action: 'restored', detail })
  } finally {
    await file.close()
  }
  // A full disk keeps SQLite from emptying its log, which does not get a name.
  if (existsSync(`${path}-wal`)) throw Object.assign(new Error(`${path} has a log`), { code: 'ENOSPC' })
}

async function warningsOf({ folder, data, manifest: { source, key_ring } }: Restore): Promise<string[]> {
  const warnings: string[] = []
  if (key_ring.where === 'apart' && !existsSync(join(data, 'keyring.json')))
    warnings.push(
      `The key ring is not in this backup, and ${join(data, 'keyring.json')} is missing. Nothing starts without it.`,
    )
  const server =
    source.host === hostname() && resolve(source.data) !== resolve(data)
      ? await findRunningServer(source.data)
      : undefined
  if (server !== undefined)
    warnings.push(
      `A server (pid ${server.pid}) runs on ${source.data}, where this backup was made. Let only one of the two serve clients: each would give out the same balances.`,
    )
  const earlier = await readFile(join(folder, RESTORES), 'utf8').catch(() => '')
  const last = earlier.trim().split('\n').at(-1)
  if (last)
    warnings.push(
      `This backup was restored before: ${last}. Let only one of the two serve clients: each would give out the same balances.`,
    )
  return warnings
}

/** A backup on a disk that is only read has no such note. */
const noteRestore = ({ clock }: RestoreServices, folder: string, data: string): Promise<void> =>
  appendFile(join(folder, RESTORES), `${isoTime(clock.now())} on ${hostname()} into ${data}\n`, { mode: 0o600 }).catch(
    () => {},
  )

function nextSteps(data: string, { key_ring, source }: BackupManifest): string[] {
  const needsRing = key_ring.where === 'apart' && !existsSync(join(data, 'keyring.json'))
  return [
    ...(needsRing
      ? [
          `Put the keyring.json that is kept apart into ${data} (mode 0600). The server had it in ${source.data} on ${source.host}.`,
        ]
      : []),
    `The configuration is not in a backup; the server had ${source.config ?? 'none'}.`,
    'What came after the backup is not in this ledger: repeat credits (with the same --ref), revocations and withdrawn codes. See docs/operate/backup.md.',
    `${needsRing ? 'Once the key ring is there' : 'Then'}: millrace db verify && millrace serve`,
  ]
}
