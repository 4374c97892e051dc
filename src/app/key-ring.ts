import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type FileHandle, link, lstat, open, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { parseSecrets } from '../config/server-schema.ts'
import { addMeta, findMeta, SEALED_BY } from '../db/meta.ts'
import { listSealedByOthers, resealRows, SEALED_COLUMNS } from '../db/sealed-columns.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { shellWord } from '../lib/anywhere/text.ts'
import { createRingSeals, deriveKey } from '../lib/crypto.ts'
import { LEDGER_FILES, syncFolder, writeDurably, writePrivately } from '../lib/files.ts'

/**
 * The secrets of an installation. Everything that is sealed or peppered derives its own key from one of them, so a backup needs
 * the key ring beside the database.
 */
export interface Keyring {
  readonly source: 'environment' | 'file' | 'new-file'
  /** Other users could read the file until now: its mode before, in octal. */
  readonly wasOpenTo?: string
  /** The first is the primary key, which seals. The others open what they sealed before a rotation. */
  readonly keys: readonly [KeyringKey, ...KeyringKey[]]
}

interface KeyringKey {
  /** Derived from the secret, so it does not depend on the label, and reveals nothing about the secret. */
  readonly id: string
  /** The operator's name for it. */
  readonly label: string
  readonly secret: Buffer
}

const SECRET_BYTES = 32

/** Loads the ring from the environment, else from `keyring.json`, which the first start creates. */
export async function loadKeyring(options: {
  dataDir: string
  secretFromEnvironment: string | undefined
  /** The effective user; undefined on Windows, which has no file modes. */
  uid?: number | undefined
}): Promise<Keyring> {
  const { secretFromEnvironment: text, uid = process.geteuid?.() } = options
  if (text !== undefined) return { source: 'environment', keys: keysOfEnvironment(text) }
  const path = join(options.dataDir, 'keyring.json')
  const made = await makeKeyringFile(path)
  const { text: written, wasOpenTo } = await readPrivately(path, uid)
  return {
    source: made ? 'new-file' : 'file',
    ...(wasOpenTo === undefined ? {} : { wasOpenTo }),
    keys: keysOfFile(path, written),
  }
}

function keysOfEnvironment(text: string): Keyring['keys'] {
  const secrets = parseSecrets(text)
  if (secrets === undefined) throw new Error('MILLRACE_SECRET_KEY has a secret of fewer than 32 characters')
  const [primary, ...others] = secrets
  const keyOf = (secret: string) => keyringKey('environment', Buffer.from(secret))
  return [keyOf(primary), ...others.map(keyOf)]
}

function keysOfFile(path: string, text: string): Keyring['keys'] {
  const [primary, ...others] = readKeyringFile(path, text)
  const keyOf = ({ id, secret }: KeyringFileKey) => keyringKey(id, Buffer.from(secret, 'base64url'))
  return [keyOf(primary), ...others.map(keyOf)]
}

/** The ids of the keys, read without creating or changing anything; undefined without a key ring. Throws if it is damaged. */
export function peekKeyring(options: {
  dataDir: string
  secretFromEnvironment: string | undefined
}): readonly string[] | undefined {
  const { dataDir, secretFromEnvironment } = options
  const path = join(dataDir, 'keyring.json')
  if (secretFromEnvironment !== undefined) return keysOfEnvironment(secretFromEnvironment).map(({ id }) => id)
  return existsSync(path) ? keysOfFile(path, readFileSync(path, 'utf8')).map(({ id }) => id) : undefined
}

const keyringKey = (label: string, secret: Buffer): KeyringKey => ({
  id: deriveKey(secret, 'fingerprint', 16).toString('hex'),
  label,
  secret,
})

/**
 * Creates the ring, durably, before anything is sealed with it. False when there is one, which is never overwritten. Only the
 * complete file gets the name, because half a ring after a power cut would block every later start.
 */
async function makeKeyringFile(path: string): Promise<boolean> {
  if (existsSync(path)) return false
  const key: KeyringFileKey = { id: 'k1', secret: randomBytes(SECRET_BYTES).toString('base64url') }
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeDurably(temporary, `${JSON.stringify({ version: 1, primary: key.id, keys: [key] }, null, 2)}\n`)
    await link(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new Error(`The key ring ${path} could not be created`, { cause: error })
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(dirname(path))
  return true
}

/**
 * Reads a file that only its owner may read. A file that others can read is closed to them; if that fails, or another user owns
 * it, the start fails, because its secrets are not this server's alone. Root reads the file of the server's user.
 */
async function readPrivately(
  path: string,
  ownUid: number | undefined,
): Promise<{ text: string; wasOpenTo: string | undefined }> {
  const file = await open(path, 'r')
  try {
    const { uid, mode } = await file.stat()
    if (ownUid === undefined) return { text: await file.readFile('utf8'), wasOpenTo: undefined }
    if (ownUid !== 0 && uid !== ownUid) {
      throw new Error(
        `The key ring ${path} belongs to another user (uid ${uid}), who can read and replace it. ` +
          `Make it this server's own: chown ${ownUid} ${shellWord(path)}`,
      )
    }
    const isOpen = (mode & OTHERS) !== 0
    if (isOpen) await closeToOthers(file, path, mode)
    return { text: await file.readFile('utf8'), wasOpenTo: isOpen ? modeOf(mode) : undefined }
  } finally {
    await file.close()
  }
}

const OTHERS = 0o077
const modeOf = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')

async function closeToOthers(file: FileHandle, path: string, mode: number): Promise<void> {
  try {
    await file.chmod(0o600)
  } catch (cause) {
    const why = `The key ring ${path} can be read by others (mode ${modeOf(mode)}), and that could not be changed.`
    throw new Error(`${why} Close it: chmod 600 ${shellWord(path)}; or give the secret as MILLRACE_SECRET_KEY_FILE.`, {
      cause,
    })
  }
}

/** A secret as `keyring.json` has it: in base64url. */
interface KeyringFileKey {
  readonly id: string
  readonly secret: string
}

const keyringFile = z.strictObject({
  version: z.literal(1),
  primary: z.string(),
  /** The ledger of this ring, written by the program. */
  ledger: z.string().optional(),
  keys: z.array(z.strictObject({ id: z.string().min(1), secret: z.string().regex(/^[\w-]{43,}$/) })).min(1),
})

/** The keys, the primary one first. An operator who rotates the ring edits it by hand, so a mistake is reported with its place. */
function readKeyringFile(path: string, text: string): readonly [KeyringFileKey, ...KeyringFileKey[]] {
  const refuse = (fault: string): never => {
    throw new Error(
      `${path} is not a key ring: ${fault}. Repair it, or restore it from a backup: ` +
        'nothing that it sealed can be read without it.',
    )
  }
  const read = keyringFile.safeParse(parseQuietly(text))
  if (!read.success) return refuse(faultOf(read.error))
  const { keys, primary: named } = read.data
  if (new Set(keys.map(({ id }) => id)).size < keys.length) return refuse('two of its keys have the same id')
  const primary = keys.find(({ id }) => id === named)
  if (primary === undefined) return refuse('"primary" is the id of none of its keys')
  return [primary, ...keys.filter((key) => key !== primary)]
}

/** The ledger that keyring.json names; undefined without a file, or before the first ledger. */
export function findLedgerOfKeyring(dataDir: string): string | undefined {
  try {
    const read = keyringFile.safeParse(parseQuietly(readFileSync(join(dataDir, 'keyring.json'), 'utf8')))
    return read.success ? read.data.ledger : undefined
  } catch {
    return undefined
  }
}

/** The files of a ledger in the data folder, whether or not ledger.db is there. */
export function filesOfLedger(data: string): string[] {
  const files = LEDGER_FILES.filter((name) => (statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0) > 0)
  return findLedgerOfKeyring(data) === undefined ? files : [...files, 'keyring.json']
}

/**
 * Records in keyring.json which ledger it belongs to, so that a start without that ledger does not create a new one. Returns false
 * for a ring that is provided from outside and cannot be written.
 */
export async function nameLedgerOfKeyring(dataDir: string, ledger: string): Promise<boolean> {
  if (findLedgerOfKeyring(dataDir) === ledger) return true
  const path = join(dataDir, 'keyring.json')
  try {
    // A symbolic link points to a file that is managed elsewhere.
    if ((await lstat(path)).isSymbolicLink()) return false
    const { version, primary, keys } = keyringFile.parse(parseQuietly(await readFile(path, 'utf8')))
    await writePrivately(path, `${JSON.stringify({ version, ledger, primary, keys }, null, 2)}\n`)
    return true
  } catch {
    return false
  }
}

/** The parser's own message quotes the text, which is the secret. */
function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Names the place only: the content may be a secret, even a field name. */
function faultOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path ?? []
  if (path.length === 0) return 'its text is not JSON with version, primary and keys'
  if (path.at(-1) === 'secret') return `${path.join('.')} is not base64url of 43 or more characters`
  return `${path.join('.')} is not valid`
}

/** A key ring with the founding key of its database. */
export interface DatabaseKeyring extends Keyring {
  /**
   * The key that the database was begun with. Digests of API keys and idempotency keys depend on it and cannot be recomputed,
   * because only the client has the text. So it stays on the ring, primary or not.
   */
  readonly founding: KeyringKey
}

type KeyringCheck =
  | { readonly kind: 'ours'; readonly keyring: DatabaseKeyring }
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Finds the key that this database was begun with; a new database records the primary one. Without it every API key would be
 * refused, so the start fails.
 */
export async function checkKeyring(db: LedgerDb, keyring: Keyring): Promise<KeyringCheck> {
  const sealedBy = (await findMeta(db, SEALED_BY)) ?? (await addMeta(db, SEALED_BY, keyring.keys[0].id))
  const founding = keyring.keys.find(({ id }) => id === sealedBy)
  if (founding !== undefined) return { kind: 'ours', keyring: { ...keyring, founding } }
  const message = `The key that this database was begun with is not on the key ring. ${remedyFor(keyring)} See docs/operate/key-ring.md.`
  return { kind: 'refused', message }
}

/** Refuses a start whose key ring file is missing. A new ring could not read the database. */
export async function findMissingKeyring(
  db: LedgerDb,
  { dataDir, secretFromEnvironment }: { readonly dataDir: string; readonly secretFromEnvironment: string | undefined },
): Promise<string | undefined> {
  const path = join(dataDir, 'keyring.json')
  if (secretFromEnvironment !== undefined || existsSync(path)) return undefined
  if ((await findMeta(db, SEALED_BY)) === undefined) return undefined
  return (
    `${path} is missing, and ledger.db was begun with a key that is not here. Put back the keyring.json that was saved with ` +
    'this ledger, or set MILLRACE_SECRET_KEY if it was begun with that. See docs/operate/key-ring.md.'
  )
}

function remedyFor({ source }: Keyring): string {
  switch (source) {
    case 'environment':
      return (
        'Put the secret that it was begun with into MILLRACE_SECRET_KEY, alone or behind a newer one and a space; ' +
        'or unset MILLRACE_SECRET_KEY if it was begun with keyring.json.'
      )
    case 'file':
      return (
        'Put that key back into keyring.json, primary or not, from the one that was saved with this database; ' +
        'or set MILLRACE_SECRET_KEY if it was begun with that.'
      )
    case 'new-file':
      return (
        'There was no keyring.json, so this start made a new one. Replace it with the one that was saved with this database, ' +
        'or set MILLRACE_SECRET_KEY if it was begun with that.'
      )
  }
}

/** API keys are found by their digest under this pepper, so it stays that of the founding key. */
export const apiKeyPepper = ({ founding }: DatabaseKeyring): Uint8Array => deriveKey(founding.secret, 'api-key-pepper')

/** Authenticates the keys of CI jobs. */
export const jobKeySecret = ({ founding }: DatabaseKeyring): Uint8Array => deriveKey(founding.secret, 'job-keys')

/** Seals of what the database keeps for as long as it is in use. */
export type DatabaseSeals = ReturnType<typeof createDatabaseSeals>

export function createDatabaseSeals({ keys: [first, ...others] }: Pick<Keyring, 'keys'>) {
  const ofPeople = ({ id, secret }: KeyringKey) => ({ id, secret: deriveKey(secret, 'people') })
  return {
    notices: createRingSeals([first, ...others], 'notices', 'notice '),
    managed: createRingSeals([first, ...others], 'managed-entries', 'managed upstream '),
    totp: createRingSeals([ofPeople(first), ...others.map(ofPeople)], 'totp', ''),
  }
}

const RESEALED_AT_ONCE = 500

/**
 * Seals everything with the primary key that former keys have sealed, so that those can leave the ring. What no key of the ring
 * opens stays as it is. Returns how many secrets were sealed again, and how many could not be opened.
 */
export async function resealWithPrimary(file: SqlStore, seals: DatabaseSeals) {
  let [resealed, unreadable] = [0, 0]
  for (const column of SEALED_COLUMNS) {
    const { primary, open, seal } = seals[column.of]
    for (let after = 0; ; ) {
      const rows = await listSealedByOthers(file, column, { primary, after, limit: RESEALED_AT_ONCE })
      const opened = rows.flatMap((row) => {
        const secret = open(row.name, row)
        return secret === undefined ? [] : [{ ...row, next: seal(row.name, secret) }]
      })
      if (opened.length > 0) resealed += await resealRows(file, column, opened)
      unreadable += rows.length - opened.length
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.key
    }
  }
  return { resealed, unreadable }
}
