import { createCipheriv, createDecipheriv, KeyObject, randomBytes, webcrypto } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** What sealing adds to what is sealed. */
const SEAL_BYTES = NONCE_BYTES + TAG_BYTES
/** Less is sealed sooner than another thread can be asked to; more is not the loop's work. */
const ON_LOOP_BYTES_MAX = 16 * 1024

/** A key object is made ready once; from bytes every use makes one of its own, which on newer Node costs more than sealing. */
export type SealKey = Uint8Array | KeyObject

const bytesOfKey = (key: SealKey): Uint8Array => (key instanceof KeyObject ? key.export() : key)

/** AES-256-GCM with a nonce of its own; what is sealed opens under the same name and no other. */
export async function sealBytes(key: SealKey, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const nonce = randomBytes(NONCE_BYTES)
  if (bytes.length <= ON_LOOP_BYTES_MAX) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name))
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }
  const sealer = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['encrypt'])
  const sealed = await webcrypto.subtle.encrypt(algorithm(nonce, name), sealer, bytes)
  return Buffer.concat([nonce, new Uint8Array(sealed)])
}

/** Undefined when it was sealed by another key or under another name, or is damaged. */
export async function openBytes(key: SealKey, name: string, sealed: Uint8Array): Promise<Uint8Array | undefined> {
  if (sealed.length < SEAL_BYTES) return undefined
  const nonce = sealed.subarray(0, NONCE_BYTES)
  try {
    if (sealed.length <= ON_LOOP_BYTES_MAX) return openOnLoop(key, nonce, name, sealed)
    const opener = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['decrypt'])
    return new Uint8Array(await webcrypto.subtle.decrypt(algorithm(nonce, name), opener, sealed.subarray(NONCE_BYTES)))
  } catch {
    return undefined
  }
}

function openOnLoop(key: SealKey, nonce: Uint8Array, name: string, sealed: Uint8Array): Uint8Array {
  const tagStart = sealed.length - TAG_BYTES
  const opener = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  opener.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(tagStart))
  return Buffer.concat([opener.update(sealed.subarray(NONCE_BYTES, tagStart)), opener.final()])
}

const algorithm = (iv: Uint8Array, name: string) => ({ name: 'AES-GCM', iv, additionalData: Buffer.from(name) })
