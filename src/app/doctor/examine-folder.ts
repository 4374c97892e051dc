import { existsSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { SEALED_BY } from '../../db/meta.ts'
import { ledgerMigrations } from '../../db/migrations/ledger-migrations.ts'
import { peekClosedLedger, wasLeftOpen } from '../../db/sqlite/check-integrity.ts'
import { shellWord } from '../../lib/anywhere/text.ts'
import { unfinishedMove } from '../../lib/files.ts'
import { BACKUP_MANIFEST, listQuarantined } from '../data-folder.ts'
import { filesOfLedger, peekKeyring } from '../key-ring.ts'
import { type Found, FREE_BYTES_MIN, found } from './faults.ts'
import type { Machine } from './machine.ts'

interface FolderQuestion {
  readonly data: string
  readonly secretFromEnvironment: string | undefined
  readonly isSqlite: boolean
  /** A running server has its files open, and reports on them itself. */
  readonly isServed: boolean
}

/** Reads only: a folder that does not exist yet is created by the first start. */
export async function examineFolder(question: FolderQuestion, machine: Machine): Promise<Found[]> {
  const { data, isServed, isSqlite } = question
  const folder = statIfAllowed(data)
  if (folder === 'forbidden') return [unreachable(data, machine)]
  if (folder === undefined) return []
  if (!folder.isDirectory()) return [found('data-not-a-folder', `${data} is a file.`)]
  const unwritable = examineOwners(data, folder, machine)
  if (unwritable.length > 0) return unwritable
  const aside = listQuarantined(data)
  return [
    ...examineMode(data, folder),
    ...(await examineDisk(data, machine)),
    ...examineTimes(data, machine),
    ...(aside.length === 0
      ? []
      : [found('files-set-aside', `${data} has files that are not used: ${aside.join(', ')}.`)]),
    ...(isServed || !isSqlite ? [] : await examineLedger(question)),
  ]
}

/** A folder that this user may not enter hides even whether it has the file. */
function statIfAllowed(path: string): Stats | 'forbidden' | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return 'forbidden'
    throw error
  }
}

const unreachable = (path: string, { uid }: Machine): Found =>
  found(
    'data-not-writable',
    `This user (uid ${uid}) may not look at ${path}, because of a folder above it.`,
    'Run the doctor as the user that runs the server, and let that user enter all folders above.',
  )

const OTHERS = 0o077

const examineMode = (data: string, { mode }: Stats): Found[] => {
  const keyring = join(data, 'keyring.json')
  const ring = statSync(keyring, { throwIfNoEntry: false })
  return [
    ...((mode & OTHERS) === 0
      ? []
      : [found('data-open', `Other users can look into ${data}.`, `chmod 700 ${shellWord(data)}`)]),
    ...(ring === undefined || (ring.mode & OTHERS) === 0
      ? []
      : [
          found(
            'keyring-open',
            `Other users can read ${keyring}.`,
            `chmod 600 ${shellWord(keyring)}, then rotate its key: docs/operate/key-ring.md`,
          ),
        ]),
  ]
}

const WRITTEN = ['ledger.db', 'content.db', 'settles.journal', 'keyring.json']
const OWNER_MAY_WRITE = 0o200
const OWNER_MAY_USE_FOLDER = 0o700

/** Compares owners and modes, which is also right for a file system that root may write in spite of them. */
function examineOwners(data: string, folder: Stats, { uid, user }: Machine): Found[] {
  if (uid === undefined) return []
  const files = [
    { path: data, stats: folder },
    ...WRITTEN.flatMap((name) => {
      const path = join(data, name)
      const stats = statIfAllowed(path)
      return stats === undefined || stats === 'forbidden' ? [] : [{ path, stats }]
    }),
  ]
  const foreign = uid === 0 ? [] : files.filter(({ stats }) => stats.uid !== uid)
  const readOnly = files.filter(({ stats }) => (stats.mode & OWNER_MAY_WRITE) === 0)
  const [first] = foreign
  if (first !== undefined) {
    const paths = foreign.map(({ path }) => path).join(', ')
    const message = `This user (uid ${uid}) does not own ${paths}, which belongs to uid ${first.stats.uid}.`
    return [found('data-not-writable', message, `chown -R ${shellWord(user ?? String(uid))} ${shellWord(data)}`)]
  }
  if (readOnly.length === 0 && (folder.mode & OWNER_MAY_USE_FOLDER) !== OWNER_MAY_USE_FOLDER) {
    const message = `The owner of ${data} may not read and enter it.`
    return [found('data-not-writable', message, `chmod u+rwx ${shellWord(data)}`)]
  }
  if (readOnly.length === 0) return []
  const paths = readOnly.map(({ path }) => path)
  const cure = `chmod u+w ${paths.map(shellWord).join(' ')}`
  return [found('data-not-writable', `Read-only: ${paths.join(', ')}.`, cure)]
}

async function examineDisk(data: string, { freeBytes }: Machine): Promise<Found[]> {
  const free = await freeBytes(data)
  if (free === undefined || free >= FREE_BYTES_MIN) return []
  return [found('disk-nearly-full', `The disk of ${data} has ${Math.floor(free / 1024 ** 2)} MiB left.`)]
}

/** A file system may round times up. */
const CLOCK_TOLERANCE_MS = 60_000

function examineTimes(data: string, { now }: Machine): Found[] {
  const times = readdirSync(data).map((name) => statSync(join(data, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const aheadMs = Math.max(0, ...times) - now()
  if (aheadMs <= CLOCK_TOLERANCE_MS) return []
  const minutes = Math.round(aheadMs / 60_000)
  return [found('clock-behind', `A file in ${data} is ${minutes} minutes newer than the clock of this machine.`)]
}

async function examineLedger({ data, secretFromEnvironment }: FolderQuestion): Promise<Found[]> {
  if (existsSync(join(data, BACKUP_MANIFEST))) return [found('data-is-backup', `${data} has a ${BACKUP_MANIFEST}.`)]
  const path = join(data, 'ledger.db')
  if (existsSync(unfinishedMove(path))) return [found('move-unfinished', `A ledger was being moved into ${data}.`)]
  const others = filesOfLedger(data)
  if (!statSync(path, { throwIfNoEntry: false })?.size) {
    if (others.length === 0) return []
    return [found('ledger-missing', `${path} is missing or empty, but ${others.join(', ')} of a ledger are beside it.`)]
  }
  // What is in the log of a killed server is not in the file yet. The next start checks both.
  if (wasLeftOpen(path)) return []
  const ledger = await peekClosedLedger(path)
  if (ledger.kind === 'damaged') return [found('ledger-damaged', `${path} is damaged: ${ledger.finding}.`)]
  const newer = ledger.migrations.slice(ledgerMigrations.length)
  if (newer.length > 0)
    return [found('ledger-newer', `${path} has changes that this version does not know: ${newer.join(', ')}.`)]
  return examineKeyring({ dataDir: data, secretFromEnvironment }, ledger.meta.get(SEALED_BY))
}

function examineKeyring(
  place: { readonly dataDir: string; readonly secretFromEnvironment: string | undefined },
  sealedBy: string | undefined,
): Found[] {
  try {
    const keys = peekKeyring(place)
    if (keys === undefined)
      return sealedBy === undefined
        ? []
        : [found('keyring-missing', `${join(place.dataDir, 'keyring.json')} is missing.`)]
    if (sealedBy === undefined || keys.includes(sealedBy)) return []
    const source = place.secretFromEnvironment === undefined ? 'keyring.json' : 'MILLRACE_SECRET_KEY'
    return [found('keyring-foreign', `The key that this ledger was begun with is not in ${source}.`)]
  } catch (error) {
    return [found('keyring-damaged', (error as Error).message)]
  }
}
