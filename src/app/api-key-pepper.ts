import { deriveKey } from '../lib/derive-key.ts'
import type { DatabaseRing } from './check-ring.ts'

/** Keys are found by what they digest to under it, so it stays that of the key which founded the ring. */
export const apiKeyPepper = ({ founding }: DatabaseRing): Uint8Array => deriveKey(founding.secret, 'api-key-pepper')
