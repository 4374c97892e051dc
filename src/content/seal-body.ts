import { randomBytes, webcrypto } from 'node:crypto'
import { deriveKey } from '../lib/derive-key.ts'

/** One key of the ring, by which what is kept is sealed. */
export interface SealingKey {
  readonly id: string
  readonly secret: Buffer
}

const NONCE_BYTES = 12

/** AES-256-GCM with a key of its own for every request; what is sealed opens under that request's name and no other. */
export async function sealBody(key: SealingKey, requestId: string, bytes: Uint8Array): Promise<Uint8Array> {
  const nonce = randomBytes(NONCE_BYTES)
  // Not on the loop's thread: an answer may have megabytes.
  const sealed = await webcrypto.subtle.encrypt(
    algorithm(nonce, requestId),
    await keyFor(key, requestId, 'encrypt'),
    bytes,
  )
  return Buffer.concat([nonce, new Uint8Array(sealed)])
}

/** Undefined when it was sealed by another key or under another name, or is damaged. */
export async function openBody(
  key: SealingKey,
  requestId: string,
  sealed: Uint8Array,
): Promise<Uint8Array | undefined> {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  try {
    const opener = await keyFor(key, requestId, 'decrypt')
    return new Uint8Array(
      await webcrypto.subtle.decrypt(algorithm(nonce, requestId), opener, sealed.subarray(NONCE_BYTES)),
    )
  } catch {
    return undefined
  }
}

const algorithm = (iv: Uint8Array, requestId: string) => ({
  name: 'AES-GCM',
  iv,
  additionalData: Buffer.from(requestId),
})

const keyFor = ({ secret }: SealingKey, requestId: string, use: 'encrypt' | 'decrypt') =>
  webcrypto.subtle.importKey('raw', deriveKey(secret, `kept-answer ${requestId}`), 'AES-GCM', false, [use])
