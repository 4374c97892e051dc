import { createHmac } from 'node:crypto'
import { deriveKey } from '../lib/derive-key.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountId } from '../model/ids.ts'

/** Accounts that are busy at the same time: most lanes take no salt, and none shall cost their requests anything. */
const KNOWN_MAX = 10_000

/** What an account's prompts are cached under at a provider. */
export type CacheSaltOf = (account: AccountId) => string

/**
 * A provider that caches prompts answers sooner what it has seen before, and by that an account could measure what others
 * have sent: so each gets a salt of its own. It is the same after a restart, or nothing would ever be cached, and tells
 * nobody whose it is.
 */
export function createCacheSalts(secret: Uint8Array): CacheSaltOf {
  const key = deriveKey(secret, 'prompt-cache-salt')
  const known = createLruMap<AccountId, string>(KNOWN_MAX)
  return (account) => {
    const met = known.get(account)
    if (met !== undefined) return met
    const salt = createHmac('sha256', key).update(account).digest('base64url')
    known.set(account, salt)
    return salt
  }
}
