import { existsSync, readdirSync, statSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { JournalFindings } from '../db/settle-journal.ts'
import { ASIDE_NAME, LEDGER_FILES, type QuarantineReason, unfinishedMove } from '../lib/files.ts'
import type { StorageUse } from '../telemetry/metrics.ts'
import type { ContentFound, WorkerPlace } from './app.ts'

/** The file with the sign-up link of the first person, when no person reads the banner. */
export const consoleSetupFile = (data: string): string => join(data, 'console-setup')

/** Where a process keeps its journal, its admin socket and its server.json: the first worker in the data folder itself. */
export const nodeFolderOf = (data: string, worker: Pick<WorkerPlace, 'number'> = { number: 1 }): string =>
  worker.number === 1 ? data : join(data, `worker-${worker.number}`)

/** Folders with a journal, of workers beyond those that run now. */
export const foldersOfFormerWorkers = (data: string, workers: number): string[] =>
  readdirSync(data)
    .filter((name) => Number(/^worker-(\d+)$/.exec(name)?.[1] ?? 0) > workers)
    .map((name) => join(data, name))
    .filter((folder) => existsSync(join(folder, 'settles.journal')))

/** The file that makes a folder a backup. */
export const BACKUP_MANIFEST = 'backup.json'

/** A backup that is opened changes: its files then no longer have the sums in its manifest, and it cannot be restored. */
export const whyBackup = (data: string): string | undefined =>
  existsSync(join(data, BACKUP_MANIFEST))
    ? `${data} is a backup, which a server or a command would change, so that it cannot be restored any more. Restore it into another folder (docs/operate/backup.md, Restore). If this is a data folder that was copied by hand, delete its ${BACKUP_MANIFEST}.`
    : undefined

/** Whether the folder has a ledger, or traces of one. */
export const hasLedger = (data: string): boolean =>
  ['ledger.db', unfinishedMove('ledger.db'), 'keyring.json', ...LEDGER_FILES].some((name) =>
    existsSync(join(data, name)),
  )

const DATABASES = ['ledger.db', 'content.db']

/** For the metrics. With PostgreSQL there are no database files here. */
export async function measureStorage(data: string): Promise<StorageUse> {
  const sizeOf = async (name: string) => (await stat(join(data, name)).catch(() => undefined))?.size
  const [disk, ...files] = await Promise.all([
    statfs(data).catch(() => undefined),
    ...DATABASES.map(async (name) => {
      const [file, log = 0] = await Promise.all([sizeOf(name), sizeOf(`${name}-wal`)])
      return file === undefined ? [] : [{ name, bytes: file + log }]
    }),
  ])
  return {
    disk: disk && { bytes: disk.blocks * disk.bsize, freeBytes: disk.bavail * disk.bsize },
    files: files.flat(),
  }
}

/** Quarantined files in the data folder. */
export const listQuarantined = (data: string): string[] =>
  statSync(data, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(data)
        .filter((name) => ASIDE_NAME.test(name))
        .sort()
    : []

interface Notice {
  readonly message: string
  readonly facts: Readonly<Record<string, string | number>>
}

const REASONS: Readonly<Record<QuarantineReason, string>> = {
  damaged: 'is damaged',
  'other-ledger': 'belongs to another ledger than ledger.db',
  ahead: 'knows of requests that ledger.db does not have; one of the two was restored from a backup',
}

/** What the operator has to know about the files beside the ledger. */
export function noticesOf(
  journal: JournalFindings | undefined,
  content: ContentFound,
  /** Whether the ledger has a receipt. */
  isUsed: boolean,
): Notice[] {
  const notices: Notice[] = []
  const add = (message: string, facts: Notice['facts'] = {}) => notices.push({ message, facts })
  const addFinding = (name: string, { quarantine, isNew }: ContentFound, lost: string, lostIfMissing: string) => {
    if (quarantine !== undefined) {
      const [file, { reason }] = [basename(quarantine.file), quarantine]
      add(`${name} ${REASONS[reason]}. It is set aside as ${file}: ${lost}.`, { file, reason })
    } else if (isNew && isUsed) add(`${name} was missing and was created again: ${lostIfMissing}.`)
  }
  addFinding(
    'content.db',
    content,
    'its stored responses and kept answers are not served, and usage is counted again from the ledger',
    'earlier stored responses and kept answers are lost',
  )
  if (journal === undefined) return notices
  addFinding(
    'settles.journal',
    journal,
    'nothing in it is charged',
    'answers whose end only it had are charged by what was marked as delivered',
  )
  const { damaged } = journal
  const skipped = 'which were skipped; their holds are resolved by what was marked as delivered'
  if (damaged > 0) add(`settles.journal has damaged records, ${skipped}.`, { damaged })
  if (journal.cutOff) add('settles.journal ends with a cut-off record, which was never reported as durable.')
  return notices
}
