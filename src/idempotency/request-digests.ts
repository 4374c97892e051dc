import { createHmac } from 'node:crypto'
import { setImmediate as immediate } from 'node:timers/promises'
import { deriveKey } from '../lib/derive-key.ts'
import type { KeyRow } from '../model/ids.ts'

/** Whose request a key names: another API key, method or path is another request. */
export interface KeyedRequest {
  readonly key: KeyRow
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
}

/** What stands in the books instead of an idempotency key and of the body that it came with. */
export interface RequestDigests {
  scopeOf(request: KeyedRequest): string
  /** Of the body's bytes after decompression. */
  fingerprintOf(body: Buffer): Promise<string>
}

/** Digested without a pause: some milliseconds. */
const SLICE_BYTES = 2 * 1024 * 1024

/** Keyed by the ring: who reads the database can neither find a key by trying, nor tell whether a body was sent. */
export function createRequestDigests(secret: Uint8Array): RequestDigests {
  const scopeKey = deriveKey(secret, 'idempotency-scope')
  const fingerprintKey = deriveKey(secret, 'idempotency-fingerprint')
  return {
    scopeOf: ({ key, method, path, idempotencyKey }) =>
      createHmac('sha256', scopeKey).update(`${key}\n${method}\n${path}\n${idempotencyKey}`).digest('base64url'),
    async fingerprintOf(body) {
      const hmac = createHmac('sha256', fingerprintKey)
      for (let at = 0; at < body.length; at += SLICE_BYTES) {
        if (at > 0) await immediate()
        hmac.update(body.subarray(at, at + SLICE_BYTES))
      }
      return hmac.digest('base64url')
    },
  }
}
