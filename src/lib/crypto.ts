import { type CipherKey, createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export const NONCE_BYTES = 12
const TAG_BYTES = 16
/** What sealing adds to what is sealed. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/** AES-256-GCM as nonce, words, tag; the nonce is random. What is sealed opens under the same name and no other. */
export function sealNow(key: CipherKey, name: string, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name))
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

/** Undefined when it was sealed by another key or under another name, or was changed. */
export function openNow(key: CipherKey, name: string, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < SEAL_BYTES) return undefined
  const tagStart = sealed.length - TAG_BYTES
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const opener = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  opener.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(tagStart))
  const words = opener.update(sealed.subarray(NONCE_BYTES, tagStart))
  try {
    return Buffer.concat([words, opener.final()])
  } catch {
    return undefined
  }
}

/**
 * One secret, many keys: HKDF-SHA-256 gives every purpose a key of its own, from which neither the secret nor any other
 * purpose's key can be found.
 */
export const deriveKey = (secret: Uint8Array, purpose: string, bytes = 32): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'millrace', purpose, bytes))
