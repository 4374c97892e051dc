import type { AccountRow } from '../model/ids.ts'
import type { CallSeals, SealBeforeCall } from '../protocols/seals/call-seals.ts'

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
