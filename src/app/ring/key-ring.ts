import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { deriveKey } from '../../lib/derive-key.ts'
import { parseSecrets } from '../config/schema/storage-schema.ts'

/**
 * The secrets of an installation. Everything that has to be sealed or peppered derives its own key from one of them, so
 * the ring is the one thing beside the database that a backup must have.
 */
export interface KeyRing {
  readonly source: 'environment' | 'file' | 'new-file'
  /** The first is the primary one, which seals; the others only open what they sealed before a rotation. */
  readonly keys: readonly [RingKey, ...RingKey[]]
}

export interface RingKey {
  /** Derived from the secret: names it whatever the operator calls it and wherever it stands, and tells nothing about it. */
  readonly id: string
  /** What the operator calls it. */
  readonly label: string
  readonly secret: Buffer
}

const SECRET_BYTES = 32

/** From the environment when it is there, else from `keyring.json`, which the first start makes. */
export async function loadKeyRing(options: {
  dataDir: string
  secretFromEnvironment: string | undefined
}): Promise<KeyRing> {
  const { secretFromEnvironment: text } = options
  if (text !== undefined) {
    const secrets = parseSecrets(text)
    if (secrets === undefined) throw new Error('MILLRACE_SECRET_KEY has a secret of fewer than 32 characters')
    const [primary, ...others] = secrets
    return { source: 'environment', keys: [spokenKey(primary), ...others.map(spokenKey)] }
  }
  const path = join(options.dataDir, 'keyring.json')
  const made = await makeRingFile(path)
  const [primary, ...others] = readRingFile(path, await readFile(path, 'utf8'))
  return { source: made ? 'new-file' : 'file', keys: [writtenKey(primary), ...others.map(writtenKey)] }
}

const ringKey = (label: string, secret: Buffer): RingKey => ({
  id: deriveKey(secret, 'fingerprint', 16).toString('hex'),
  label,
  secret,
})

const spokenKey = (secret: string): RingKey => ringKey('environment', Buffer.from(secret))
const writtenKey = ({ id, secret }: RingFileKey): RingKey => ringKey(id, Buffer.from(secret, 'base64url'))

/** Durable before anything is sealed with it, and never over a ring that is there. False when one is. */
async function makeRingFile(path: string): Promise<boolean> {
  const key: RingFileKey = { id: 'k1', secret: randomBytes(SECRET_BYTES).toString('base64url') }
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(`${JSON.stringify({ version: 1, primary: key.id, keys: [key] }, null, 2)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new Error(`The key ring ${path} could not be made`, { cause: error })
  }
  await syncFolder(join(path, '..'))
  return true
}

/** Without this the file's name may be lost with the power, although its bytes are not. */
async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder, and keeps its names durable by itself.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** A secret as `keyring.json` has it: in base64url. */
export interface RingFileKey {
  readonly id: string
  readonly secret: string
}

const ringFile = z.strictObject({
  version: z.literal(1),
  primary: z.string(),
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
