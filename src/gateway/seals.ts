import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { deriveKey, openNow, sealNow } from '../lib/crypto.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import type { SealPurpose, Seals } from '../model/seals.ts'
import type { CallSeals, SealBeforeCall } from '../protocols/seals/call-seals.ts'

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

/** What was sealed in front of tool calls, of every account apart. In memory: whoever has forgotten it goes on without. */
export interface CallSealMemory {
  of(account: AccountRow): CallSeals
}

const MiB = 1024 * 1024
/** A tool runs for minutes at most, and a client that has a person in between comes back within the hour. */
const LIFE_MICROS = 3_600_000_000
/** A seal has some kilobytes: what ten thousand calls and more have been led to by. */
const BYTES_MAX = 64 * MiB
/** So that one account cannot push out all the others: the tool loops of a hundred conversations. */
const ACCOUNT_BYTES_MAX = 8 * MiB
/** What was used just now need not be noted as used again. */
const FRESH_MICROS = 60_000_000
/** What an entry weighs beside what is sealed in it: ids, objects, two places in maps. */
const ENTRY_BYTES = 512

interface CallSealOptions {
  /** Monotonic microseconds. */
  readonly nowMicros: () => number
  readonly bytesMax?: number
  readonly accountBytesMax?: number
}

interface Entry {
  readonly account: AccountRow
  readonly callId: string
  readonly seals: readonly SealBeforeCall[]
  readonly bytes: number
  readonly usedAt: number
}

/** What an account has, the least recently used first. */
interface Share {
  bytes: number
  readonly entries: Map<string, Entry>
}

/** Whatever was not used for the longest time makes room: of the account where that has too much, else of all. */
export function createCallSealMemory({
  nowMicros,
  bytesMax = BYTES_MAX,
  accountBytesMax = ACCOUNT_BYTES_MAX,
}: CallSealOptions): CallSealMemory {
  const shares = new Map<AccountRow, Share>()
  /** The least recently used first, whoever's. */
  const all = new Set<Entry>()
  let bytes = 0

  const forget = (entry: Entry): void => {
    const share = shares.get(entry.account)!
    all.delete(entry)
    share.entries.delete(entry.callId)
    share.bytes -= entry.bytes
    bytes -= entry.bytes
    if (share.entries.size === 0) shares.delete(entry.account)
  }
  const remember = (entry: Entry): void => {
    const share = shares.get(entry.account) ?? { bytes: 0, entries: new Map() }
    shares.set(entry.account, share)
    all.add(entry)
    share.entries.set(entry.callId, entry)
    share.bytes += entry.bytes
    bytes += entry.bytes
  }
  const forgetOld = (): void => {
    for (const entry of all) {
      if (nowMicros() - entry.usedAt < LIFE_MICROS) return
      forget(entry)
    }
  }
  const makeRoom = (account: AccountRow): void => {
    for (const entry of shares.get(account)?.entries.values() ?? []) {
      if ((shares.get(account)?.bytes ?? 0) <= accountBytesMax) break
      forget(entry)
    }
    for (const entry of all) {
      if (bytes <= bytesMax) return
      forget(entry)
    }
  }
  return {
    of: (account) => ({
      keep(callId, seals) {
        forgetOld()
        const weight = weightOf(callId, seals)
        // It would push out everything else, and then itself.
        if (weight > Math.min(bytesMax, accountBytesMax)) return
        const known = shares.get(account)?.entries.get(callId)
        if (known) forget(known)
        remember({ account, callId, seals, bytes: weight, usedAt: nowMicros() })
        makeRoom(account)
      },
      find(callId) {
        forgetOld()
        const entry = shares.get(account)?.entries.get(callId)
        if (entry === undefined) return NOTHING
        if (nowMicros() - entry.usedAt >= FRESH_MICROS) {
          forget(entry)
          remember({ ...entry, usedAt: nowMicros() })
        }
        return entry.seals
      },
      isEmpty: () => !shares.has(account),
    }),
  }
}

const NOTHING: readonly SealBeforeCall[] = []

const weightOf = (callId: string, seals: readonly SealBeforeCall[]): number =>
  seals.reduce((sum, { opaque }) => sum + Buffer.byteLength(opaque.data) + ENTRY_BYTES, callId.length + ENTRY_BYTES)
