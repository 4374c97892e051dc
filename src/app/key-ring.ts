import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { access, type FileHandle, link, lstat, open, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { parseSecrets } from '../config/server-schema.ts'
import { findMeta, setMeta } from '../db/meta.ts'
import type { LedgerDb } from '../db/tables.ts'
import { shellWord } from '../lib/anywhere/shell-word.ts'
import { deriveKey } from '../lib/crypto.ts'
import { syncFolder, writeDurably } from '../lib/files.ts'
import { writePrivately } from '../lib/private-files.ts'

/**
 * The secrets of an installation. Everything that has to be sealed or peppered derives its own key from one of them, so
 * the ring is the one thing beside the database that a backup must have.
 */
export interface Keyring {
  readonly source: 'environment' | 'file' | 'new-file'
  /** The file could be read by others until now: its mode then, as `ls` knows it. */
  readonly wasOpenTo?: string
  /** The first is the primary one, which seals; the others only open what they sealed before a rotation. */
  readonly keys: readonly [KeyringKey, ...KeyringKey[]]
}

interface KeyringKey {
  /** Derived from the secret: names it whatever the operator calls it and wherever it stands, and tells nothing about it. */
  readonly id: string
  /** What the operator calls it. */
  readonly label: string
  readonly secret: Buffer
}

const SECRET_BYTES = 32

/** From the environment when it is there, else from `keyring.json`, which the first start makes. */
export async function loadKeyring(options: {
  dataDir: string
  secretFromEnvironment: string | undefined
  /** As whom this process reads files; undefined on Windows, which has no modes. */
  uid?: number | undefined
}): Promise<Keyring> {
  const { secretFromEnvironment: text, uid = process.geteuid?.() } = options
  if (text !== undefined) {
    const secrets = parseSecrets(text)
    if (secrets === undefined) throw new Error('MILLRACE_SECRET_KEY has a secret of fewer than 32 characters')
    const [primary, ...others] = secrets
    return { source: 'environment', keys: [spokenKey(primary), ...others.map(spokenKey)] }
  }
  const path = join(options.dataDir, 'keyring.json')
  const made = await makeRingFile(path)
  const { text: written, wasOpenTo } = await readPrivately(path, uid)
  const [primary, ...others] = readRingFile(path, written)
  return {
    source: made ? 'new-file' : 'file',
    ...(wasOpenTo === undefined ? {} : { wasOpenTo }),
    keys: [writtenKey(primary), ...others.map(writtenKey)],
  }
}

const keyringKey = (label: string, secret: Buffer): KeyringKey => ({
  id: deriveKey(secret, 'fingerprint', 16).toString('hex'),
  label,
  secret,
})

const spokenKey = (secret: string): KeyringKey => keyringKey('environment', Buffer.from(secret))
const writtenKey = ({ id, secret }: RingFileKey): KeyringKey => keyringKey(id, Buffer.from(secret, 'base64url'))

/**
 * Durable before anything is sealed with it, and never over a ring that is there. False when one is. The name is given to the
 * whole file: half a ring, left by a power cut during the first start, would keep every later start from going on.
 */
async function makeRingFile(path: string): Promise<boolean> {
  if (await exists(path)) return false
  const key: RingFileKey = { id: 'k1', secret: randomBytes(SECRET_BYTES).toString('base64url') }
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeDurably(temporary, `${JSON.stringify({ version: 1, primary: key.id, keys: [key] }, null, 2)}\n`)
    await link(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new Error(`The key ring ${path} could not be made`, { cause: error })
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(dirname(path))
  return true
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/**
 * The text of a file that only its owner may read. One that others may read is closed to them; where that cannot be done,
 * or somebody else owns it, its secrets are not this server's alone. Root reads what belongs to the user of the server.
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
interface RingFileKey {
  readonly id: string
  readonly secret: string
}

const ringFile = z.strictObject({
  version: z.literal(1),
  primary: z.string(),
  /** Which ledger it is the ring of. The program writes it. */
  ledger: z.string().optional(),
  keys: z.array(z.strictObject({ id: z.string().min(1), secret: z.string().regex(/^[\w-]{43,}$/) })).min(1),
})

/** The keys, the primary one first. Somebody who rotates the ring writes it by hand, so a fault is told with its place. */
function readRingFile(path: string, text: string): readonly [RingFileKey, ...RingFileKey[]] {
  const refuse = (fault: string): never => {
    throw new Error(
      `${path} is not a key ring: ${fault}. Mend it, or restore it from a backup: ` +
        'nothing that it sealed can be read without it.',
    )
  }
  const read = ringFile.safeParse(parseQuietly(text))
  if (!read.success) return refuse(faultOf(read.error))
  const { keys, primary: named } = read.data
  if (new Set(keys.map(({ id }) => id)).size < keys.length) return refuse('two of its keys have the same id')
  const primary = keys.find(({ id }) => id === named)
  if (primary === undefined) return refuse('"primary" is the id of none of its keys')
  return [primary, ...keys.filter((key) => key !== primary)]
}

/** The ledger that keyring.json names; undefined where there is none, or nothing was begun with it yet. */
export function findLedgerOfKeyring(dataDir: string): string | undefined {
  try {
    const read = ringFile.safeParse(parseQuietly(readFileSync(join(dataDir, 'keyring.json'), 'utf8')))
    return read.success ? read.data.ledger : undefined
  } catch {
    return undefined
  }
}

/**
 * Writes into keyring.json whose ring it is, so that a start which finds the ring without its ledger begins no new one. A ring
 * that somebody else provides, and we may not write, stays as it is: returns false.
 */
export async function nameLedgerOfKeyring(dataDir: string, ledger: string): Promise<boolean> {
  if (findLedgerOfKeyring(dataDir) === ledger) return true
  const path = join(dataDir, 'keyring.json')
  try {
    // A link leads to a file that somebody else looks after.
    if ((await lstat(path)).isSymbolicLink()) return false
    const { version, primary, keys } = ringFile.parse(parseQuietly(await readFile(path, 'utf8')))
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

/** Its place only: what stands there may be a secret, even a name of a field. */
function faultOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path ?? []
  if (path.length === 0) return 'its text is not JSON with version, primary and keys'
  if (path.at(-1) === 'secret') return `${path.join('.')} is not 43 or more letters of base64url`
  return `${path.join('.')} is not what it has to be`
}

/** A key ring beside the database that it serves. */
export interface DatabaseKeyring extends Keyring {
  /**
   * The key that the database was begun with. Digests of API keys and of idempotency keys are made with it for ever: only
   * who has the text can make them anew, and that is the client. So it stays on the ring, primary or not.
   */
  readonly founding: KeyringKey
}

type KeyringCheck =
  | { readonly kind: 'ours'; readonly ring: DatabaseKeyring }
  | { readonly kind: 'refused'; readonly message: string }

/** The id of the founding key. */
const SEALED_BY = 'sealed_by'

/**
 * Looks for the key that this database was begun with; a new database remembers the primary one. Without it every API key
 * would be refused: better not to start than to look as if all keys were gone.
 */
export async function checkKeyring(db: LedgerDb, ring: Keyring): Promise<KeyringCheck> {
  const sealedBy = await findMeta(db, SEALED_BY)
  if (sealedBy === undefined) {
    const [founding] = ring.keys
    await setMeta(db, SEALED_BY, founding.id)
    return { kind: 'ours', ring: { ...ring, founding } }
  }
  const founding = ring.keys.find(({ id }) => id === sealedBy)
  if (founding !== undefined) return { kind: 'ours', ring: { ...ring, founding } }
  const message = `The key that this database was begun with is not on the key ring. ${remedyFor(ring)} See docs/operate/key-ring.md.`
  return { kind: 'refused', message }
}

/** Why no ring can be loaded for this database: its file is gone. A new one would not open anything. */
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

function remedyFor(ring: Keyring): string {
  switch (ring.source) {
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

/** Keys are found by what they digest to under it, so it stays that of the key which founded the ring. */
export const apiKeyPepper = ({ founding }: DatabaseKeyring): Uint8Array => deriveKey(founding.secret, 'api-key-pepper')
