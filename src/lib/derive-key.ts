import { hkdfSync } from 'node:crypto'

/**
 * One secret, many keys: HKDF-SHA-256 gives every purpose a key of its own, from which neither the secret nor any other
 * purpose's key can be found.
 */
export const deriveKey = (secret: Uint8Array, purpose: string, bytes = 32): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'millrace', purpose, bytes))
