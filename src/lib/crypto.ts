import { type CipherKey, createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export const NONCE_BYTES = 12
const TAG_BYTES = 16
/** How much longer a sealed text is. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/** AES-256-GCM as nonce, ciphertext, tag; the nonce is random. It opens only under the same name. */
export function sealNow(key: CipherKey, name: string, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name))
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

/** Undefined if it was sealed by another key or under another name, or was changed. */
export function openNow(key: CipherKey, name: string, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < SEAL_BYTES) return undefined
  const tagStart = sealed.length - TAG_BYTES
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const opener = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  opener.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(tagStart))
  const plain = opener.update(sealed.subarray(NONCE_BYTES, tagStart))
  try {
    return Buffer.concat([plain, opener.final()])
  } catch {
    return undefined
  }
}

/** HKDF-SHA-256 derives a key for each purpose, which reveals neither the secret nor the key of another purpose. */
export const deriveKey = (secret: Uint8Array, purpose: string, bytes = 32): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'millrace', purpose, bytes))

/** What was sealed with a key of the key ring, and the id of that key. */
export interface RingSealed {
  readonly ring_key: string
  readonly sealed: Uint8Array
}

/** Seals secrets that the database keeps, under the primary key of the key ring. */
export interface RingSeals {
  readonly primary: string
  /** It opens only under the same name. */
  seal(name: string, bytes: Uint8Array): RingSealed
  /** Undefined when the key that sealed it is not on the ring. */
  open(name: string, sealed: RingSealed): Buffer | undefined
}

interface RingKey {
  readonly id: string
  readonly secret: Uint8Array
}

/** With keys of their own for each purpose. The first key of the ring is the primary one. `prefix`: before each name. */
export function createRingSeals(keys: readonly [RingKey, ...RingKey[]], purpose: string, prefix: string): RingSeals {
  const derived = new Map(keys.map(({ id, secret }) => [id, deriveKey(secret, purpose)]))
  const [{ id: primary }] = keys
  return {
    primary,
    seal: (name, bytes) => ({ ring_key: primary, sealed: sealNow(derived.get(primary)!, prefix + name, bytes) }),
    open(name, { ring_key, sealed }) {
      const key = derived.get(ring_key)
      return key && openNow(key, prefix + name, sealed)
    },
  }
}
