import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { pauseIdly } from '../lib/async.ts'
import { createLruMap } from '../lib/collections.ts'
import { deriveKey, openNow, sealNow } from '../lib/crypto.ts'
import type { Opaque, SealPurpose, Seals } from '../model/event.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import type { Compacted } from '../model/turn.ts'
import type { Sealing } from '../protocols/responses/emit-items.ts'
import type { CallSeals, SealBeforeCall } from '../protocols/seals/call-seals.ts'

/** A secret that seals now, or did before a rotation. */
interface SealingSecret {
  readonly secret: Uint8Array
}

/** Of the text and of everything that is derived for it: another format would be another version. */
const VERSION = 'mr1'
/** Eight characters tell the secrets of the key ring apart, and reveal nothing. */
const SECRET_NAME_BYTES = 6
const HEAD = /^mr1\.([\w-]{8})\./
/** Some hundred bytes each. */
const KEYS_IN_MEMORY_MAX = 10_000

/**
 * Envelopes as `mr1.<name of the secret>.<nonce, ciphertext and tag>`; the first secret seals, all of them open. Every account
 * has a key of its own for each purpose, so an envelope of another account does not open, and random nonces never come near a
 * second use. See docs/decisions/2026-11-21-envelopes.md.
 */
export function createSeals(sealingKeys: readonly [SealingSecret, ...SealingSecret[]]): Seals {
  const secrets = new Map(sealingKeys.map(({ secret }) => [nameOf(secret), secret]))
  const primary = nameOf(sealingKeys[0].secret)
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
      const sealed = sealNow(keyFor(sealingKeys[0].secret, use), use, Buffer.from(content))
      return `${VERSION}.${primary}.${sealed.toString('base64url')}`
    },
    open(purpose, owner, envelope) {
      // Text of another kind, however long, costs a look at its first characters.
      const [head = '', name = ''] = HEAD.exec(envelope) ?? []
      const secret = secrets.get(name)
      if (secret === undefined) return undefined
      const text = envelope.slice(head.length)
      const sealed = Buffer.from(text, 'base64url')
      // Decoders are lenient: what we wrote encodes to the same text again.
      if (sealed.toString('base64url') !== text) return undefined
      const use = useOf(name, purpose, owner)
      return openNow(keyFor(secret, use), use, sealed)?.toString()
    },
  }
}

const nameOf = (secret: Uint8Array): string =>
  deriveKey(secret, 'envelope name', SECRET_NAME_BYTES).toString('base64url')

const useOf = (secretName: string, purpose: SealPurpose, owner: AccountId): string =>
  `${VERSION} ${secretName} ${purpose} ${owner}`

/** Sealed data that the clients of one account carry from one request to the next. What does not open is undefined. */
export interface Envelopes extends Sealing {
  openReasoning(envelope: string): Opaque | undefined
  openCompaction(envelope: string): Compacted | undefined
}

export function envelopesOf(seals: Seals, owner: AccountId): Envelopes {
  return {
    sealReasoning: (opaque) => seals.seal('reasoning', owner, JSON.stringify(listOf(opaque))),
    openReasoning(envelope) {
      const opened = seals.open('reasoning', owner, envelope)
      return opened === undefined ? undefined : opaqueOf(JSON.parse(opened))
    },
    sealCompaction(compacted) {
      const content = compacted.kind === 'summary' ? compacted.text : listOf(compacted.opaque)
      return seals.seal('compaction', owner, JSON.stringify(content))
    },
    openCompaction(envelope) {
      const opened = seals.open('compaction', owner, envelope)
      if (opened === undefined) return undefined
      const content = JSON.parse(opened) as string | OpaqueList
      return typeof content === 'string'
        ? { kind: 'summary', text: content }
        : { kind: 'native', opaque: opaqueOf(content) }
    },
  }
}

/** Short, because clients send it again with every request. */
type OpaqueList = readonly [wire: Opaque['wire'], origin: string, data: string]

const listOf = ({ wire, origin, data }: Opaque): OpaqueList => [wire, origin, data]
const opaqueOf = ([wire, origin, data]: OpaqueList): Opaque => ({ wire, origin, data })

/** Accounts that are busy at the same time. */
const SALTS_MAX = 10_000

/**
 * The salt under which a provider caches an account's prompts. A provider answers faster what it has in its cache: with one salt
 * for all, an account could measure what others have sent. The salt is the same after a restart, and does not reveal the account.
 */
export function createCacheSalts(secret: Uint8Array): (account: AccountId) => string {
  const key = deriveKey(secret, 'prompt-cache-salt')
  const salts = createLruMap<AccountId, string>(SALTS_MAX)
  return (account) => {
    const known = salts.get(account)
    if (known !== undefined) return known
    const salt = createHmac('sha256', key).update(account).digest('base64url')
    salts.set(account, salt)
    return salt
  }
}

/** The sealed reasoning before tool calls, by account. With SQLite it is in memory only: after a restart a turn goes on without it. */
export interface CallSealMemory {
  of(account: AccountRow): CallSeals
  /** The accounts of which there is any here: of most there is none. */
  readonly accounts: Pick<ReadonlyMap<AccountRow, unknown>, 'has'>
  /** Other nodes may have more. */
  readonly isShared: boolean
}

const MiB = 1024 * 1024
/** A tool runs for minutes, and a person answers within the hour. */
const LIFE_MICROS = 3_600_000_000
/** The seals of ten thousand calls, of some kilobytes each. */
const BYTES_MAX = 64 * MiB
/** The tool loops of a hundred conversations, so that one account cannot evict all the others. */
const ACCOUNT_BYTES_MAX = 8 * MiB
/** An entry that was used within this time is not moved again. */
const FRESH_MICROS = 60_000_000
/** Ids, objects and two map entries. */
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

/** The entries of one account, the least recently used first. */
interface Share {
  bytes: number
  readonly entries: Map<string, Entry>
}

/** Evicts the least recently used entry: of an account that has too much, else of all. */
export function createCallSealMemory({
  nowMicros,
  bytesMax = BYTES_MAX,
  accountBytesMax = ACCOUNT_BYTES_MAX,
}: CallSealOptions): CallSealMemory {
  const shares = new Map<AccountRow, Share>()
  /** Of all accounts, the least recently used first. */
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
        // It would evict everything else, and then itself.
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
    }),
    accounts: shares,
    isShared: false,
  }
}

/** A turn does not wait longer for what it can go on without. */
const LOAD_WAIT_MS = 500

interface SharedCallSeals {
  keep(account: AccountRow, callId: string, sealed: string): void
  find(account: AccountRow, callIds: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/** What one node keeps in memory, all find in `stored`. */
export function shareCallSeals(
  memory: CallSealMemory,
  { stored, seals, onFailure }: { stored: SharedCallSeals; seals: Seals; onFailure: (error: unknown) => void },
): CallSealMemory {
  return {
    ...memory,
    isShared: true,
    of(account) {
      const { keep, find } = memory.of(account)
      const owner = `row ${account}` as AccountId
      return {
        find,
        keep(callId, kept) {
          keep(callId, kept)
          // What is too large for the memory is not stored either.
          if (find(callId).length > 0) stored.keep(account, callId, seals.seal('calls', owner, JSON.stringify(kept)))
        },
        async load(callIds) {
          const unknown = callIds.filter((callId) => find(callId).length === 0)
          if (unknown.length === 0) return
          try {
            const found = await Promise.race([stored.find(account, unknown), pauseIdly(LOAD_WAIT_MS)])
            for (const [callId, sealed] of found ?? []) {
              const opened = seals.open('calls', owner, sealed)
              if (opened !== undefined) keep(callId, JSON.parse(opened) as SealBeforeCall[])
            }
          } catch (error) {
            onFailure(error)
          }
        },
      }
    },
  }
}

const NOTHING: readonly SealBeforeCall[] = []

const weightOf = (callId: string, seals: readonly SealBeforeCall[]): number =>
  seals.reduce((sum, { opaque }) => sum + Buffer.byteLength(opaque.data) + ENTRY_BYTES, callId.length + ENTRY_BYTES)
