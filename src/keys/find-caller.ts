import { hash } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountRow, KeyId } from '../model/ids.ts'
import { findKeyByDigest } from '../store/keys.ts'
import type { LedgerDb } from '../store/tables.ts'
import { digestKey, KEY_LENGTH_MAX, readKey } from './key-secret.ts'
import { type CallerOutcome, judgeKey, type KnownKey, knownKeyOf, UNKNOWN } from './known-key.ts'

export interface CallerFinder {
  /** Answers at once when the key was seen before: this is on every request's way. */
  find(token: string): CallerOutcome | Promise<CallerOutcome>
  /** After every change of a key, so that the next request sees it. */
  forget(key: KeyId): void
  /** After every change of an account, or of its subscription. */
  forgetAccount(account: AccountRow): void
}

/** Keys that are in use at the same time; each takes about a kilobyte. */
const KNOWN_MAX = 10_000
/** Tokens that look like keys and are none: remembered shortly, so that a client in a loop does not reach the database. */
const UNKNOWN_MAX = 10_000
const UNKNOWN_MICROS = 5_000_000

const MALFORMED = { kind: 'refused', reason: 'malformed' } as const

export function createCallerFinder(deps: { db: LedgerDb; pepper: Uint8Array; clock: Clock }): CallerFinder {
  const { db, pepper, clock } = deps
  // All three know a key by its hash only: a dump of this memory holds nobody's secret.
  const known = createLruMap<string, KnownKey>(KNOWN_MAX)
  const unknownUntil = createLruMap<string, number>(UNKNOWN_MAX)
  const lookingUp = new Map<string, Promise<CallerOutcome>>()
  let changes = 0

  const judge = (key: KnownKey): CallerOutcome => judgeKey(key, clock.now())

  const lookUp = async (name: string, digest: Buffer): Promise<CallerOutcome> => {
    const changesBefore = changes
    const found = await findKeyByDigest(db, digest)
    const key = found && knownKeyOf(found, digest.equals(found.digest) ? 'present' : 'former')
    // What was read before a change must not be remembered after it: a revoked key would live on in the cache.
    if (changes === changesBefore) {
      if (key) known.set(name, key)
      else unknownUntil.set(name, clock.ticks() + UNKNOWN_MICROS)
    }
    return key ? judge(key) : UNKNOWN
  }

  const lookUpOnce = (name: string, digest: Buffer): Promise<CallerOutcome> => {
    const running = lookingUp.get(name)
    if (running) return running
    const started = lookUp(name, digest).finally(() => {
      if (lookingUp.get(name) === started) lookingUp.delete(name)
    })
    lookingUp.set(name, started)
    return started
  }

  const forgetWhere = (concerns: (key: KnownKey) => boolean): void => {
    changes++
    lookingUp.clear()
    unknownUntil.clear()
    for (const [name, key] of known.entries()) if (concerns(key)) known.delete(name)
  }

  return {
    find(token) {
      if (token.length > KEY_LENGTH_MAX) return MALFORMED
      const name = nameOf(token)
      const key = known.get(name)
      if (key) return judge(key)
      if (readKey(token) === undefined) return MALFORMED
      const until = unknownUntil.get(name)
      if (until !== undefined && until > clock.ticks()) return UNKNOWN
      return lookUpOnce(name, digestKey(pepper, token))
    },
    forget: (id) => forgetWhere((key) => key.id === id),
    forgetAccount: (account) => forgetWhere((key) => key.account === account),
  }
}

/** Plain SHA-256 is four times cheaper than the peppered digest, and 256 random bits cannot be guessed from it either. */
const nameOf = (token: string): string => hash('sha256', token, 'base64url')
