import { hash } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow, KeyId } from '../model/ids.ts'
import { findKeyByDigest, findKeyWithAccount } from '../store/keys.ts'
import type { LedgerDb } from '../store/tables.ts'
import { digestKey, KEY_LENGTH_MAX, readKey } from './key-secret.ts'
import { type CallerOutcome, judgeKey, type KnownKey, knownKeyOf, UNKNOWN } from './known-key.ts'

export interface CallerFinder {
  /** Answers at once when the key was seen before: this is on every request's way. */
  find(token: string): CallerOutcome | Promise<CallerOutcome>
  /**
   * Judges a caller again that was found before: its key, account, plan and caps may have changed while its body came. Answers
   * at once, with the same object, while nothing of it has changed.
   */
  findAgain(caller: Caller): CallerOutcome | Promise<CallerOutcome>
  /** Counts the changes of keys and accounts: while the number stays, what was judged holds. */
  readonly changes: number
  /** After every change of a key, so that the next request sees it. */
  forget(key: KeyId): void
  /** After every change of an account, or of its subscription. */
  forgetAccount(account: AccountRow): void
  /** After every change of time. */
  forgetAll(): void
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
  const secrets = new WeakMap<Caller, KnownSecret>()
  let changes = 0

  const judge = (key: KnownKey): CallerOutcome => judgeKey(key, clock.now())

  const lookUp = async (name: string, digest: Buffer): Promise<CallerOutcome> => {
    const changesBefore = changes
    const found = await findKeyByDigest(db, digest)
    const key = found && knownKeyOf(found, digest.equals(found.digest) ? 'present' : 'former')
    // What was read before a change must not be remembered after it: a revoked key would live on in the cache.
    if (key) rememberSecret(key, { name, digest })
    if (changes === changesBefore) {
      if (key) known.set(name, key)
      else unknownUntil.set(name, clock.ticks() + UNKNOWN_MICROS)
    }
    return key ? judge(key) : UNKNOWN
  }

  const rememberSecret = ({ outcome, lapsed }: KnownKey, secret: KnownSecret): void => {
    for (const each of [outcome, lapsed?.outcome]) if (each?.kind === 'caller') secrets.set(each.caller, secret)
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

  /** A key of the playground has no secret. */
  const findByRow = async (caller: Caller): Promise<CallerOutcome> => {
    const found = await findKeyWithAccount(db, caller.key)
    return found ? judge(knownKeyOf(found, 'present')) : UNKNOWN
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
    findAgain(caller) {
      const secret = secrets.get(caller)
      if (secret === undefined) return findByRow(caller)
      const key = known.get(secret.name)
      return key ? judge(key) : lookUpOnce(secret.name, secret.digest)
    },
    get changes() {
      return changes
    },
    forget: (id) => forgetWhere((key) => key.id === id),
    forgetAccount: (account) => forgetWhere((key) => key.account === account),
    forgetAll: () => forgetWhere(() => true),
  }
}

/** By what a caller was found: the name in the cache, and the digest in the database. */
interface KnownSecret {
  readonly name: string
  readonly digest: Buffer
}

/** Plain SHA-256 is four times cheaper than the peppered digest, and 256 random bits cannot be guessed from it either. */
const nameOf = (token: string): string => hash('sha256', token, 'base64url')
