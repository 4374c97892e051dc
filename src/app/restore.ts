import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { appendFile, link, open, readFile, rename, rm, statfs } from 'node:fs/promises'
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
import { isNewest, isOlder } from '../db/sqlite/migrate.ts'
import { openSqlite } from '../db/sqlite/open-sqlite.ts'
import type { LedgerTables } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { giveTo, makeDataFolder, ownerFor, syncFolder, whyNotWritten } from '../lib/files.ts'
import { type BackupManifest, FILES_OF_BACKUP, readManifest } from './backup.ts'
import { hasLedger } from './data-folder.ts'
import { loadKeyring } from './key-ring.ts'
import { describeHolder, findRunningServer, isServed } from './server-note.ts'

interface RestoreServices {
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly cwd: string
  readonly clock: Clock
  readonly loadSettings: (place: Place) => SettingsOutcome
}

const refused = (exit: ExitCode, message: string): RestoreOutcome => ({ kind: 'refused', exit, message })

/** Restores that were made of a backup, one a line: two servers from one backup are two ledgers that contradict each other. */
const RESTORES = 'restored.log'

/** Copies a backup into a data folder without a ledger. Each file is compared with its sum before it gets its name. */
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
  const why = whyNotEmpty(data) ?? (await whyUnreadable(config, manifest))
  if (why !== undefined) return refused(EXIT.failure, why)
  try {
    const owner = await ownerFor(data)
    await makeDataFolder(data)
    await refuseFullDisk(data, manifest)
    onStep('Copying')
    for (const file of manifest.files) await copyVerified(folder, data, file)
    onStep('Recording the restore')
    await record(services, unfinished(data, 'ledger.db'), { folder, manifest })
    const copied = FILES_OF_BACKUP.map((name) => unfinished(data, name)).filter((path) => existsSync(path))
    await giveTo(owner, [data, ...copied])
    // In this order: without ledger.db nothing starts on the other files.
    if (await isServed(data)) throw new RestoreRefused(`A server has started meanwhile on ${data}. Stop it first.`)
    const taken = whyNotEmpty(data)
    if (taken !== undefined) throw new RestoreRefused(taken)
    for (const name of [...FILES_OF_BACKUP].reverse())
      if (existsSync(unfinished(data, name))) await placeNew(unfinished(data, name), join(data, name))
    await syncFolder(data)
    const warnings = await warningsOf(folder, data, manifest)
    await noteRestore(services, folder, data)
    const { id, taken_at, counts } = manifest
    return { kind: 'done', report: { data, id, taken_at, counts, warnings, next: nextSteps(data, manifest) } }
  } catch (error) {
    for (const name of FILES_OF_BACKUP) await rm(unfinished(data, name), { force: true })
    if (error instanceof RestoreRefused) return refused(EXIT.failure, error.message)
    const reason = whyNotWritten(error)
    if (reason === undefined) throw error
    return refused(EXIT.failure, `The backup cannot be copied into ${data}: ${reason}.`)
  }
}

class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
}

const unfinished = (data: string, name: string): string => join(data, `${name}.restoring`)

/** Some file systems, such as FAT, have no second names. */
const HAS_NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Gives a file its name, unless there is one of that name: a server that has just started owns it. */
async function placeNew(from: string, to: string): Promise<void> {
  const taken = () => new RestoreRefused(`${to} has come to be meanwhile: a restore overwrites nothing.`)
  try {
    await link(from, to)
    await rm(from)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || (HAS_NO_LINKS.has(code) && existsSync(to))) throw taken()
    if (!HAS_NO_LINKS.has(code)) throw error
    await rename(from, to)
  }
}

/** Files of other programs may be there, such as the configuration. */
function whyNotEmpty(data: string): string | undefined {
  const found = statSync(data, { throwIfNoEntry: false })
  if (found !== undefined && !found.isDirectory()) return `${data} is a file, not a data folder.`
  const names = [...FILES_OF_BACKUP, 'ledger.db-wal', 'ledger.db-journal', 'content.db-wal', 'content.db-journal']
  const there = names.filter((name) => existsSync(join(data, name)))
  if (there.length === 0 && !hasLedger(data)) return undefined
  return `${data} has a ledger already (${there.join(', ') || 'an unfinished move'}). Move the whole folder away, or name another one with --data: a restore overwrites nothing.`
}

/** Whether a server with this configuration could read what is restored. */
async function whyUnreadable({ keyring }: Config, { key_ring }: BackupManifest): Promise<string | undefined> {
  if (keyring.secretKey === undefined)
    return key_ring.where === 'environment'
      ? 'The server of this backup had its key ring from MILLRACE_SECRET_KEY, which is not set here. Set it as it was there: nothing can be read without it.'
      : undefined
  const { keys } = await loadKeyring({ dataDir: '', secretFromEnvironment: keyring.secretKey })
  if (keys.some(({ id }) => id === key_ring.founding)) return undefined
  return key_ring.where === 'environment'
    ? 'MILLRACE_SECRET_KEY is set, but not to the secret that the ledger of this backup was begun with.'
    : 'MILLRACE_SECRET_KEY is set, but the ledger of this backup was begun with its keyring.json. Unset it, and restore again.'
}

/** What must stay free: a server needs room to start. */
const RESERVE_BYTES = 64 * 1024 * 1024

async function refuseFullDisk(data: string, { files }: BackupManifest): Promise<void> {
  const needed = files.reduce((sum, { bytes }) => sum + bytes, RESERVE_BYTES)
  const { bavail, bsize } = await statfs(data)
  if (bavail * bsize >= needed) return
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024)
  throw new RestoreRefused(
    `The disk of ${data} has ${mebibytes(bavail * bsize)} MiB left, and ${mebibytes(needed)} MiB are needed.`,
  )
}

const PIECE_BYTES = 1024 * 1024

async function copyVerified(folder: string, data: string, { name, bytes, sha256 }: BackupManifest['files'][number]) {
  const damaged = `${join(folder, name)} is not what it was when the backup was made. Take another backup, or an earlier copy of this one.`
  const target = unfinished(data, name)
  await rm(target, { force: true })
  const source = await open(join(folder, name), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new RestoreRefused(`${join(folder, name)} is missing. ${damaged}`)
    throw error
  })
  const written = await open(target, 'wx', 0o600)
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
  if (at !== bytes || hash.digest('hex') !== sha256) throw new RestoreRefused(damaged)
}

/** The audit log says from when on the ledger is another one than that of the server it was copied from. */
async function record(
  { clock }: RestoreServices,
  path: string,
  { folder, manifest: { id, taken_at, version } }: { readonly folder: string; readonly manifest: BackupManifest },
): Promise<void> {
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
}

async function warningsOf(folder: string, data: string, { source }: BackupManifest): Promise<string[]> {
  const warnings: string[] = []
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
  const ring =
    key_ring.where === 'apart'
      ? [`Put the keyring.json that is kept apart into ${data} (mode 0600): nothing starts without it.`]
      : []
  return [
    ...ring,
    `The configuration is not in a backup; the server had ${source.config ?? 'none'}.`,
    'What came after the backup is not in this ledger: repeat credits (with the same --ref), revocations and withdrawn codes. See docs/operate/backup.md.',
    'Then: millrace db verify && millrace serve',
  ]
}
