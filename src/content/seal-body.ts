import { deriveKey } from '../lib/derive-key.ts'
import { openBytes, sealBytes } from './seal-bytes.ts'

/** One key of the ring, by which what is kept is sealed. */
export interface SealingKey {
  readonly id: string
  readonly secret: Buffer
}

/** With a key of its own for every request; what is sealed opens under that request's name and no other. */
export const sealBody = (key: SealingKey, requestId: string, bytes: Uint8Array): Promise<Uint8Array> =>
  sealBytes(keyFor(key, requestId), requestId, bytes)

/** Undefined when it was sealed by another key or under another name, or is damaged. */
export const openBody = (key: SealingKey, requestId: string, sealed: Uint8Array): Promise<Uint8Array | undefined> =>
  openBytes(keyFor(key, requestId), requestId, sealed)

const keyFor = ({ secret }: SealingKey, requestId: string): Buffer => deriveKey(secret, `kept-answer ${requestId}`)
