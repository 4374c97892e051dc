import { createHash } from 'node:crypto'
import { constants, createReadStream, existsSync, lstatSync, statSync } from 'node:fs'
import { access, readdir, readFile, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Kysely } from 'kysely'
import { z } from 'zod'
import { verifyAudit } from '../admin/audit.ts'
import { POSTGRES_BACKS_UP } from '../admin/ledger-maintenance.ts'
import type { BackupPoint } from '../admin/services.ts'
import {
  type BackupOutcome,
  type BackupReport,
  type BackupRequest,
  EXIT,
  type ExitCode,
  type Operator,
  type Place,
} from '../cli/cli-services.ts'
import type { SettingsOutcome } from '../config/load-config.ts'
import { applyLogs } from '../db/backup.ts'
import { createKeptAnswers } from '../db/content/kept-answers.ts'
import { findContentLedger } from '../db/content/open-content.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import { findLedgerId, findMeta, hasReached, SEALED_BY } from '../db/meta.ts'
import { countJournaled } from '../db/settle-journal.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { runChecker } from '../db/sqlite/check-integrity.ts'
import { openSqlite } from '../db/sqlite/open-sqlite.ts'
import type { LedgerTables } from '../db/tables.ts'
import { verifyLedgerState } from '../ledger/verify.ts'
import type { Clock } from '../lib/clock.ts'
import { bytesOf, giveTo, ownerFor, syncFolder, whyDiskFull, whyNotWritten, writeDurably } from '../lib/files.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { AccountId, RequestId } from '../model/ids.ts'
import { BACKUP_MANIFEST } from './data-folder.ts'
import { type Keyring, loadKeyring } from './key-ring.ts'
import { isAlive } from './server-note.ts'

export const FILES_OF_BACKUP = ['ledger.db', 'content.db', 'settles.journal', 'keyring.json'] as const

const count = z.number().int().min(0)

export const manifestSchema = z.object({
  format: z.literal(1),
  /** Of Millrace. */
  version: z.string(),
  id: z.string(),
  taken_at: z.string(),
  ledger: z.string(),
  source: z.object({ host: z.string(), data: z.string(), config: z.string().nullable() }),
  key_ring: z.object({ where: z.enum(['file', 'environment', 'apart']), founding: z.string() }),
  counts: z.object({
    accounts: count,
    receipts: count,
    transfers: count,
    audit_entries: count,
    /** Requests that were running: a restored server ends them as after a crash. */
    open_requests: count,
    /** Ends that only the journal has: a restored server charges them. */
    ends_in_journal: count,
  }),
  /** Noted elsewhere, it shows whether the end of the audit log was cut off. */
  audit_head: z.string(),
  files: z.array(z.object({ name: z.enum(FILES_OF_BACKUP), bytes: count, sha256: z.string() })),
})

export type BackupManifest = z.infer<typeof manifestSchema>

interface BackupServices {
  readonly version: string
  readonly cwd: string
  /** Of this process. */
  readonly pid: number
  readonly clock: Clock
  readonly random: RandomBytes
  readonly operator: Operator
  readonly loadSettings: (place: Place) => SettingsOutcome
}

const refused = (exit: ExitCode, message: string): BackupOutcome => ({ kind: 'refused', exit, message })

/**
 * Has the files copied by the running server, or here without one, under a temporary name; verifies the copy in this process,
 * which does not slow the server; and gives it its name when it is a backup.
 */
export async function backUpLedger(
  services: BackupServices,
  place: Place,
  { to, withKeyring, onStep }: BackupRequest,
): Promise<BackupOutcome> {
  const loaded = services.loadSettings(place)
  if (loaded.kind === 'loaded' && loaded.settings.config.storage.database.kind === 'postgres')
    return refused(EXIT.failure, POSTGRES_BACKS_UP)
  const target = resolve(services.cwd, to)
  const why = await whyNoTarget(target)
  if (why !== undefined) return refused(EXIT.failure, why)
  await deletePartials(services, dirname(target), onStep)
  const data = loaded.kind === 'loaded' ? loaded.settings.config.storage.data : loaded.data
  const full = data && (await whyDiskFull(target, bytesOf(FILES_OF_BACKUP.map((name) => join(data, name)))))
  if (full) return refused(EXIT.failure, full)
  const id = Buffer.from(services.random(6)).toString('hex')
  const folder = `${target}.partial-${HOST}-${services.pid}-${id}`
  onStep('Copying')
  const copied = await services.operator.call(place, 'db.backup', { to: target, folder, key_ring: withKeyring })
  if (copied.kind !== 'done') return refused(copied.kind === 'refused' ? EXIT.failure : copied.exit, copied.message)
  if (!existsSync(folder)) return refused(EXIT.failure, notSeen(folder, copied.value.key_ring.where === 'file'))
  try {
    onStep('Verifying')
    for (const name of ['ledger.db', 'content.db']) await applyLogs(folder, name)
    const { checks, counts, auditHead } = await verifyCopy(folder, copied.value)
    if (checks.some(({ violations }) => violations > 0)) {
      const kept = `${target}.failed-${id}`
      await rename(folder, kept)
      return refused(EXIT.failure, notVerified(kept, checks))
    }
    const { ids: _, ...ring } = copied.value.key_ring
    const { taken_at, ledger, source, ends_in_journal } = copied.value
    const manifest: BackupManifest = {
      ...{ format: 1, version: services.version, id, taken_at, ledger, source, key_ring: ring },
      counts: { ...counts, ends_in_journal },
      audit_head: auditHead,
      files: await sumFiles(folder),
    }
    await writeDurably(join(folder, BACKUP_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
    const names = await readdir(folder)
    await giveTo(await ownerFor(source.data), [...names.map((name) => join(folder, name)), folder])
    await syncFolder(folder)
    await rename(folder, target)
    await syncFolder(dirname(target))
    return { kind: 'done', report: reportOf(target, manifest) }
  } catch (error) {
    // The disk may be what fails. What stays is deleted by the next backup.
    await rm(folder, { recursive: true, force: true }).catch(() => {})
    const why = whyNotWritten(error)
    if (why === undefined) throw error
    return refused(EXIT.failure, `${target} cannot be written: ${why}.`)
  }
}

/** A service with a /tmp of its own, or a container. */
const notSeen = (folder: string, hasKeyring: boolean): string =>
  `The server has written ${folder}, but this command does not see it: the two have different mounts. Delete it where the server runs${hasKeyring ? '; it contains the key ring' : ''}. Then name a folder that both see (docs/operate/backup.md).`

/** A folder that exists may be the mount point of a disk, which cannot be replaced. */
async function whyNoTarget(target: string): Promise<string | undefined> {
  const above = dirname(target)
  try {
    const found = lstatSync(target, { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) return `${target} is a symbolic link. Name a folder that does not exist yet.`
    if (found?.isDirectory())
      return `${target} exists already. Name a folder that does not exist yet; of a disk that is mounted there, one inside it.`
    if (found !== undefined) return `${target} is a file. Name a folder that does not exist yet.`
    await access(above, constants.W_OK | constants.X_OK)
    const isBackup = existsSync(join(above, BACKUP_MANIFEST))
    return isBackup ? `${above} is a backup. Name a folder outside of it: it may be deleted as a whole.` : undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return `${above} does not exist. Create it, or mount its disk, first.`
    const why = whyNotWritten(error) ?? message
    return `${target} cannot be created: ${why}. Name a folder where the user of the service may write, and run this as that user.`
  }
}

const HOST = hostname().replaceAll(/[^\w.-]/g, '_')
const PARTIAL = /^.*\.partial-(.+)-(\d+)-[0-9a-f]{12}$/
const FILE_OF_PARTIAL =
  /^((ledger|content)\.db(\.log-\d+|-wal|-shm|-journal)?|settles\.journal|keyring\.json|backup\.json)$/

/** Deletes what commands of this machine have left that were killed. Only the command makes a backup of its folder. */
async function deletePartials({ pid }: BackupServices, above: string, onStep: BackupRequest['onStep']): Promise<void> {
  const names = await readdir(above).catch(() => [])
  for (const name of names) {
    const [, host, of] = PARTIAL.exec(name) ?? []
    // A command in a restarted container has the id of an earlier one.
    if (host !== HOST || (Number(of) !== pid && isAlive(Number(of)))) continue
    const folder = join(above, name)
    try {
      if (!lstatSync(folder).isDirectory()) continue
      if (!(await readdir(folder)).every((each) => FILE_OF_PARTIAL.test(each))) continue
      onStep(`Deleting ${folder}, which a killed backup has left`)
      await rm(folder, { recursive: true, force: true })
    } catch {
      // It belongs to another user.
    }
  }
}

const notVerified = (folder: string, checks: readonly Check[]): string => {
  const broken = checks
    .filter(({ violations }) => violations > 0)
    .map(({ name, violations }) => `${name}: ${violations}`)
  return `The copy does not pass its verification (${broken.join('; ')}), so it is not a backup. It is in ${folder}. Run: millrace db verify`
}

function reportOf(folder: string, manifest: BackupManifest): BackupReport {
  const { id, taken_at, version, key_ring, counts, files, audit_head } = manifest
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return { folder, id, taken_at, version, key_ring: key_ring.where, bytes, counts, audit_head }
}

interface Check {
  readonly name: string
  readonly violations: number
}

/** Proves what `db verify` proves, and that the files belong together and can be read with the key ring. */
async function verifyCopy(folder: string, point: BackupPoint) {
  const checks: Check[] = []
  for (const name of ['ledger.db', 'content.db']) {
    const report = await runChecker(join(folder, name))
    checks.push({ name: `${name} is undamaged`, violations: report.kind === 'checked' ? report.findings.length : 1 })
  }
  const ledger = await openSqlite({ path: join(folder, 'ledger.db') })
  try {
    const content = await openSqlite({ path: join(folder, 'content.db') })
    try {
      const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(ledger) })
      const { report } = await verifyLedgerState({ db })
      const audit = await verifyAudit({ db })
      const of = await findContentLedger(content)
      const belongs = of !== undefined && of.ledger === (await findLedgerId(db)) && (await hasReached(db, of.mark))
      const isSealedByRing = await canBeOpened({ folder, content, sealedBy: await findMeta(db, SEALED_BY) }, point)
      const [open] = await ledger.all<{ rows: number }>(
        `SELECT COUNT(*) AS rows FROM receipts WHERE state = 'open'`,
        [],
      )
      checks.push(
        ...report.checks,
        { name: 'the audit log is one unbroken chain', violations: audit.violations },
        { name: 'content.db belongs to ledger.db', violations: belongs ? 0 : 1 },
        { name: 'the key ring opens what is sealed', violations: isSealedByRing ? 0 : 1 },
      )
      const { accounts, receipts, transfers } = report
      const counts = { accounts, receipts, transfers, audit_entries: audit.rows, open_requests: open?.rows ?? 0 }
      const journaled = await countJournaled(join(folder, 'settles.journal'))
      const isWhole = journaled === point.ends_in_journal
      checks.push({ name: 'settles.journal has every end', violations: isWhole ? 0 : 1 })
      return { checks, counts, auditHead: audit.head }
    } finally {
      await content.close()
    }
  } finally {
    await ledger.close()
  }
}

const RING_KEYS = 'SELECT ring_key FROM account_keys UNION SELECT ring_key FROM answers'
const NEWEST_ANSWER = `SELECT request_id, owners.id AS account FROM answers JOIN owners ON owners.owner = answers.account
  ORDER BY answers.rowid DESC LIMIT 1`

/** By the names of the keys, and with the ring in the copy also by opening the newest answer. */
async function canBeOpened(
  {
    folder,
    content,
    sealedBy,
  }: { readonly folder: string; readonly content: SqlStore; readonly sealedBy?: string | undefined },
  { key_ring }: BackupPoint,
): Promise<boolean> {
  const ring = key_ring.where === 'file' ? await ringOf(folder, key_ring.founding) : undefined
  const ids = ring?.map(({ id }) => id) ?? key_ring.ids
  const used = await content.all<{ ring_key: string }>(RING_KEYS, [])
  if (sealedBy !== key_ring.founding || !used.every((each) => ids.includes(each.ring_key))) return false
  const [newest] = await content.all<{ request_id: string; account: string }>(NEWEST_ANSWER, [])
  if (ring === undefined || newest === undefined) return true
  const answers = await createKeptAnswers({
    ...{ file: content, keys: ring, now: () => 0, bytesMax: Number.MAX_SAFE_INTEGER },
    onFailure: (error) => {
      throw error
    },
  })
  const found = await answers.find(newest.request_id as RequestId, newest.account as AccountId)
  return (await found?.read()) !== undefined
}

/** The keys in the copy, with the founding one also under its label. Without it, a name that seals nothing. */
async function ringOf(folder: string, founding: string): Promise<Keyring['keys']> {
  const { keys } = await loadKeyring({ dataDir: folder, secretFromEnvironment: undefined })
  const first = keys.find(({ id }) => id === founding)
  return first === undefined ? keys : [...keys, { ...first, id: first.label }]
}

async function sumFiles(folder: string): Promise<BackupManifest['files']> {
  const files: BackupManifest['files'] = []
  for (const name of FILES_OF_BACKUP) {
    const path = join(folder, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found !== undefined) files.push({ name, bytes: found.size, sha256: await sumOf(path) })
  }
  return files
}

export async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(piece)
  return hash.digest('hex')
}

type ManifestRead =
  | { readonly kind: 'read'; readonly manifest: BackupManifest }
  | { readonly kind: 'refused'; readonly message: string }

/** The manifest of a folder that may be a backup. */
export async function readManifest(folder: string): Promise<ManifestRead> {
  const path = join(folder, BACKUP_MANIFEST)
  try {
    const read = manifestSchema.safeParse(JSON.parse(await readFile(path, 'utf8')))
    if (!read.success) return notRead(`${path} is not the manifest of a backup that this version can read.`)
    const { files, key_ring } = read.data
    const needed = FILES_OF_BACKUP.filter((name) => name !== 'keyring.json' || key_ring.where === 'file')
    const missing = needed.filter((needs) => !files.some(({ name }) => name === needs))
    if (missing.length === 0) return { kind: 'read', manifest: read.data }
    return notRead(`${path} does not list ${missing.join(', ')}: it was changed. Take an earlier copy of this backup.`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') return notRead(`${path} may not be read by this user (EACCES). Run this as its owner.`)
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      const what = PARTIAL.test(folder) ? ' It is an unfinished one.' : ''
      return notRead(`${folder} is not a backup: it has no ${BACKUP_MANIFEST}.${what}`)
    }
  }
  return notRead(`${path} is not the manifest of a backup that this version can read.`)
}

const notRead = (message: string): ManifestRead => ({ kind: 'refused', message })
