import { copyFile, mkdir, realpath, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { done, type Outcome, refuseOperation } from '../admin/outcome.ts'
import type { BackupCopy, BackupPoint, FileCheck } from '../admin/services.ts'
import { isoTime } from '../admin/values.ts'
import { configPathOf } from '../config/load-config.ts'
import { CopyGivenUp, copyOpenFiles } from '../db/backup.ts'
import type { Database } from '../db/open-database.ts'
import { openSettleJournal } from '../db/settle-journal.ts'
import { checkIntegrity } from '../db/sqlite/check-integrity.ts'
import { type Closing, pauseIdly } from '../lib/async.ts'
import { syncFile, syncFolder, whyNotWritten } from '../lib/files.ts'
import type { AppOptions, Services } from './app.ts'

type FileServices = Pick<Services, 'config' | 'content' | 'keyring' | 'clock'>

/**
 * What reads the database files whole: their check, and the copy for a backup. One at a time, because each of them decides when
 * the log of a file is emptied. PostgreSQL has tools of its own for both.
 */
export function createFileWork(
  services: FileServices,
  database: Database,
  { settings }: Pick<AppOptions, 'settings'>,
  closing: Closing,
) {
  const { data } = services.config.storage
  const files = [
    { name: 'ledger.db', path: join(data, 'ledger.db'), store: database.file },
    { name: 'content.db', path: join(data, 'content.db'), store: services.content },
  ]
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(work)
    last = mine.catch(() => {})
    return mine
  }
  let copying: Promise<unknown> | undefined
  const stopping = new AbortController()
  closing.add(async () => {
    stopping.abort(new CopyGivenUp('The server stops.'))
    await Promise.race([copying, pauseIdly(CLEANING_MS)])
  })
  return {
    checkFiles: () =>
      inTurn(async () => {
        const checks: FileCheck[] = []
        for (const { name, path, store } of files)
          checks.push({ file: name, report: await checkIntegrity(store, path) })
        return checks
      }),
    /** A second one would wait for as long as the disk of the first hangs. */
    async copyFiles(request: BackupCopy): Promise<Outcome<BackupPoint>> {
      if (copying !== undefined) return refuseOperation('backup_refused', 'A backup is running. Wait for its end.')
      const copy: typeof copyOpenFiles = (copied) => inTurn(() => copyOpenFiles({ ...copied, signal: stopping.signal }))
      const config = configPathOf(settings) ?? null
      const outcome = copyLedger({ ...services, database, files, config, copy }, request)
      copying = outcome
        .catch(() => {})
        .finally(() => {
          copying = undefined
        })
      return outcome
    },
  }
}

/** How long a stop waits until what a backup has written is deleted. Its disk may hang. */
const CLEANING_MS = 5000

interface CopyServices extends Pick<FileServices, 'keyring' | 'clock'> {
  readonly database: Database
  readonly files: Parameters<typeof copyOpenFiles>[0]['files']
  readonly config: string | null
  readonly copy: typeof copyOpenFiles
}

/** Copies everything that a restored server needs into a new folder. A copy that fails is deleted. */
async function copyLedger(services: CopyServices, request: BackupCopy): Promise<Outcome<BackupPoint>> {
  const { folder } = request
  const data = dirname(services.files[0]!.path)
  const inside = await isInside(folder, data)
  if (inside !== false) return refuseOperation('backup_refused', inside === undefined ? noFolderAbove(folder) : INSIDE)
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    const why = whyNotWritten(error) ?? String(error)
    return refuseOperation('backup_refused', `${folder} cannot be created: ${why}. ${MUST_BE_WRITABLE}`)
  }
  try {
    await request.begin()
    return done(await copyInto(services, data, request))
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (error instanceof CopyGivenUp) return refuseOperation('backup_refused', error.message)
    const why = whyNotWritten(error)
    if (why === undefined) throw error
    return refuseOperation('backup_refused', `${folder} cannot be written: ${why}.`)
  }
}

const MUST_BE_WRITABLE =
  'The user of the server must be allowed to write in the folder above. See docs/operate/backup.md, Where the server may write.'
const INSIDE = 'The target is inside the data folder. Name a folder outside of it, best on another disk.'
const noFolderAbove = (folder: string): string =>
  `${dirname(folder)} does not exist, or this user may not read it. Create it, or mount its disk, first.`

/** Undefined when the folder above does not exist. */
async function isInside(folder: string, data: string): Promise<boolean | undefined> {
  try {
    const above = await realpath(dirname(folder))
    const path = relative(await realpath(data), above)
    return !path.startsWith('..') && path !== relative('/', above)
  } catch {
    return undefined
  }
}

async function copyInto(
  { database, files, keyring, clock, config, copy }: CopyServices,
  data: string,
  { folder, key_ring: withKeyring }: BackupCopy,
): Promise<BackupPoint> {
  const { records, takenAt } = await copy({
    files,
    into: folder,
    atPoint: async () => {
      const takenAt = clock.now()
      return { records: await database.journal.read(), takenAt }
    },
  })
  const path = join(folder, 'settles.journal')
  const journal = await openSettleJournal({ path, ledger: database.ledger, now: clock.now })
  try {
    for (const record of records) if (!(await journal.append(record))) throw new Error(`${path} could not be written`)
  } finally {
    await journal.close()
  }
  const isCopied = keyring.source !== 'environment' && withKeyring
  if (isCopied) {
    await copyFile(join(data, 'keyring.json'), join(folder, 'keyring.json'))
    await syncFile(join(folder, 'keyring.json'))
  }
  await syncFolder(folder)
  return {
    ...{ taken_at: isoTime(takenAt), ledger: database.ledger, ends_in_journal: records.length },
    source: { host: hostname(), data, config },
    key_ring: {
      where: isCopied ? 'file' : keyring.source === 'environment' ? 'environment' : 'apart',
      founding: keyring.founding.id,
      ids: [...keyring.keys.map(({ id }) => id), keyring.founding.label],
    },
  }
}
