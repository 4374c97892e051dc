import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { deriveKey } from '../lib/derive-key.ts'

/**
 * The one secret of an installation. Everything that has to be sealed or peppered derives its own key from it, so it is
 * the one thing beside the database that a backup must have.
 */
export interface KeyRing {
  readonly source: 'environment' | 'file' | 'new-file'
  /** The first is the primary one, which seals; the others only open what they sealed before a rotation. */
  readonly keys: readonly [RingKey, ...RingKey[]]
  /** What the digests of API keys are made with. */
  readonly pepper: Buffer
  /** Names the primary secret without telling anything about it. */
  readonly fingerprint: string
}

export interface RingKey {
  readonly id: string
  readonly secret: Buffer
}

const SECRET_BYTES = 32

const ringFile = z.strictObject({
  version: z.literal(1),
  primary: z.string(),
  keys: z.array(z.strictObject({ id: z.string().min(1), secret: z.string().regex(/^[\w-]{43,}$/) })).min(1),
})

/** From the environment when it is there, else from `keyring.json`, which the first start makes. */
export async function loadKeyRing(options: {
  dataDir: string
  secretFromEnvironment: string | undefined
}): Promise<KeyRing> {
  const { secretFromEnvironment: secret } = options
  if (secret !== undefined) {
    if (secret.length < SECRET_BYTES) throw new Error(`MILLRACE_SECRET_KEY is shorter than ${SECRET_BYTES} characters`)
    return ringOf('environment', [{ id: 'environment', secret: Buffer.from(secret) }])
  }
  const path = join(options.dataDir, 'keyring.json')
  const made = await makeRingFile(path)
  return ringOf(made ? 'new-file' : 'file', readRingFile(path, await readFile(path, 'utf8')))
}

export const fingerprintOf = (key: RingKey): string => deriveKey(key.secret, 'fingerprint', 16).toString('hex')

const ringOf = (source: KeyRing['source'], keys: readonly [RingKey, ...RingKey[]]): KeyRing => ({
  source,
  keys,
  pepper: deriveKey(keys[0].secret, 'api-key-pepper'),
  fingerprint: fingerprintOf(keys[0]),
})

/** Durable before anything is sealed with it, and never over a ring that is there. False when one is. */
async function makeRingFile(path: string): Promise<boolean> {
  const key = { id: 'k1', secret: randomBytes(SECRET_BYTES).toString('base64url') }
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

function readRingFile(path: string, text: string): readonly [RingKey, ...RingKey[]] {
  const ring = ringFile.safeParse(parseQuietly(text))
  const primary = ring.data?.keys.find((key) => key.id === ring.data.primary)
  if (!ring.success || primary === undefined) {
    throw new Error(
      `${path} is not a key ring. Restore it from a backup: nothing that it sealed can be read without it.`,
    )
  }
  const others = ring.data.keys.filter((key) => key !== primary)
  return [ringKeyOf(primary), ...others.map(ringKeyOf)]
}

/** The parser's own message quotes the text, which is the secret. */
function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const ringKeyOf = (key: { id: string; secret: string }): RingKey => ({
  id: key.id,
  secret: Buffer.from(key.secret, 'base64url'),
})
