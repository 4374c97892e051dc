import { KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { NONCE_BYTES, openNow, SEAL_BYTES, sealNow } from '../lib/seal-now.ts'

/** One key of the ring, by which what is kept is sealed. */
export interface SealingKey {
  readonly id: string
  readonly secret: Buffer
}

/** Less is sealed sooner than another thread can be asked to; more is not the loop's work. */
const ON_LOOP_BYTES_MAX = 16 * 1024

/** A key object is made ready once; from bytes every use makes one of its own, which on newer Node costs more than sealing. */
export type SealKey = Uint8Array | KeyObject

const bytesOfKey = (key: SealKey): Uint8Array => (key instanceof KeyObject ? key.export() : key)

/** As `sealNow`, which does the small ones. */
export async function sealBytes(key: SealKey, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.length <= ON_LOOP_BYTES_MAX) return sealNow(key, name, bytes)
  const nonce = randomBytes(NONCE_BYTES)
  const sealer = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['encrypt'])
  const sealed = await webcrypto.subtle.encrypt(algorithm(nonce, name), sealer, bytes)
  return Buffer.concat([nonce, new Uint8Array(sealed)])
}

/** Undefined when it was sealed by another key or under another name, or is damaged. */
export async function openBytes(key: SealKey, name: string, sealed: Uint8Array): Promise<Uint8Array | undefined> {
  if (sealed.length <= ON_LOOP_BYTES_MAX + SEAL_BYTES) return openNow(key, name, sealed)
  const nonce = sealed.subarray(0, NONCE_BYTES)
  try {
    const opener = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['decrypt'])
    const words = sealed.subarray(NONCE_BYTES)
    return new Uint8Array(await webcrypto.subtle.decrypt(algorithm(nonce, name), opener, words))
  } catch {
    return undefined
  }
}

const algorithm = (iv: Uint8Array, name: string) => ({ name: 'AES-GCM', iv, additionalData: Buffer.from(name) })
