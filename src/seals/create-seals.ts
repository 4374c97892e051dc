import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { deriveKey } from '../lib/derive-key.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountId } from '../model/ids.ts'
import type { SealPurpose, Seals } from '../model/seals.ts'

/** A secret that seals, or once did. */
export interface SealingSecret {
  readonly secret: Uint8Array
}

const VERSION = 'mr1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Names a key on the ring without telling anything about it. */
const KEY_NAME_BYTES = 6
/** Every account has keys of its own, so that random nonces never come near a second use. */
const KEYS_IN_MEMORY_MAX = 10_000

/** Envelopes as `mr1.<name of the key>.<nonce, words and tag>`; the first secret seals, all of them open. */
export function createSeals(ring: readonly [SealingSecret, ...SealingSecret[]]): Seals {
  const secrets = new Map(ring.map(({ secret }) => [keyNameOf(secret), secret]))
  const primary = keyNameOf(ring[0].secret)
  const keys = createLruMap<string, KeyObject>(KEYS_IN_MEMORY_MAX)
  const keyFor = (use: Use): KeyObject | undefined => {
    const name = nameOf(use)
    const known = keys.get(name)
    const secret = secrets.get(use.keyName)
    if (known !== undefined || secret === undefined) return known
    const key = createSecretKey(deriveKey(secret, `envelope ${name}`))
    keys.set(name, key)
    return key
  }
  return {
    seal(purpose, owner, content) {
      const use = { keyName: primary, purpose, owner }
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyFor(use)!, nonce).setAAD(Buffer.from(nameOf(use)))
      const words = Buffer.concat([nonce, cipher.update(content, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${VERSION}.${primary}.${words.toString('base64url')}`
    },
    open(purpose, owner, envelope) {
      const [version, keyName = '', words = '', ...rest] = envelope.split('.', 4)
      if (version !== VERSION || rest.length > 0) return undefined
      const use = { keyName, purpose, owner }
      const key = keyFor(use)
      const sealed = Buffer.from(words, 'base64url')
      // Other texts that decode to the same bytes are not what we wrote.
      if (key === undefined || sealed.length < NONCE_BYTES + TAG_BYTES || sealed.toString('base64url') !== words)
        return undefined
      return openWith(key, nameOf(use), sealed)
    },
  }
}

interface Use {
  readonly keyName: string
  readonly purpose: SealPurpose
  readonly owner: AccountId
}

const nameOf = ({ keyName, purpose, owner }: Use): string => `${VERSION} ${keyName} ${purpose} ${owner}`

const keyNameOf = (secret: Uint8Array): string =>
  deriveKey(secret, 'envelope name', KEY_NAME_BYTES).toString('base64url')

function openWith(key: KeyObject, name: string, sealed: Buffer): string | undefined {
  const tagStart = sealed.length - TAG_BYTES
  const opener = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  opener.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(tagStart))
  try {
    return Buffer.concat([opener.update(sealed.subarray(NONCE_BYTES, tagStart)), opener.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
