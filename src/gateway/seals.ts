import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { deriveKey, openNow, sealNow } from '../lib/crypto.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountId } from '../model/ids.ts'
import type { SealPurpose, Seals } from '../model/seals.ts'

/** A secret that seals, or once did. */
interface SealingSecret {
  readonly secret: Uint8Array
}

/** Of the text and of everything that is derived for it: another format would be another version. */
const VERSION = 'mr1'
/** Eight characters tell a secret of the ring from the others, and nothing about it. */
const SECRET_NAME_BYTES = 6
const HEAD = /^mr1\.([\w-]{8})\./
/** Some hundred bytes each. */
const KEYS_IN_MEMORY_MAX = 10_000

/**
 * Envelopes as `mr1.<name of the secret>.<nonce, words and tag>`; the first secret seals, all of them open. Every account
 * has a key of its own for each purpose: one that is tried on another account's envelope is simply the wrong one, and
 * random nonces never come near a second use. See docs/decisions/2026-11-21-envelopes.md.
 */
export function createSeals(ring: readonly [SealingSecret, ...SealingSecret[]]): Seals {
  const secrets = new Map(ring.map(({ secret }) => [nameOf(secret), secret]))
  const primary = nameOf(ring[0].secret)
  const keys = createLruMap<string, KeyObject>(KEYS_IN_MEMORY_MAX)
  const keyFor = (secret: Uint8Array, use: string): KeyObject => {
    const known = keys.get(use)
    if (known !== undefined) return known
    const key = createSecretKey(deriveKey(secret, `envelope ${use}`))
    keys.set(use, key)
    return key
  }
  return {
    seal(purpose, owner, content) {
      const use = useOf(primary, purpose, owner)
      const sealed = sealNow(keyFor(ring[0].secret, use), use, Buffer.from(content))
      return `${VERSION}.${primary}.${sealed.toString('base64url')}`
    },
    open(purpose, owner, envelope) {
      // A text of another kind, however long, costs a look at its first characters.
      const [head = '', name = ''] = HEAD.exec(envelope) ?? []
      const secret = secrets.get(name)
      const sealed = secret && bytesOf(envelope.slice(head.length))
      if (secret === undefined || sealed === undefined) return undefined
      const use = useOf(name, purpose, owner)
      return openNow(keyFor(secret, use), use, sealed)?.toString()
    },
  }
}

const nameOf = (secret: Uint8Array): string =>
  deriveKey(secret, 'envelope name', SECRET_NAME_BYTES).toString('base64url')

const useOf = (secretName: string, purpose: SealPurpose, owner: AccountId): string =>
  `${VERSION} ${secretName} ${purpose} ${owner}`

/** Decoders forgive; what they forgave is another text than the one we wrote, and so is not ours. */
function bytesOf(words: string): Buffer | undefined {
  const bytes = Buffer.from(words, 'base64url')
  return bytes.toString('base64url') === words ? bytes : undefined
}

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
