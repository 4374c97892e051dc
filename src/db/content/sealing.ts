import { createHmac, createSecretKey, KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { createQueue, createTurnstile } from '../../lib/async.ts'
import { createLruMap } from '../../lib/collections.ts'
import { deriveKey, NONCE_BYTES, openNow, SEAL_BYTES, sealNow } from '../../lib/crypto.ts'
import type { Brand } from '../../lib/types.ts'
import type { AccountId } from '../../model/ids.ts'
import { type AtomicStatement, changeRows, findRow, type SqlStore, statement } from '../sql-store.ts'

export type AccountKey = ReturnType<typeof keysOf>

type FoundAccountKey =
  | { readonly kind: 'found'; readonly key: AccountKey }
  | { readonly kind: 'none' }
  /** It is wrapped by a key that is not on the keyring, or is damaged. */
  | { readonly kind: 'unreadable' }

export type AccountKeys = ReturnType<typeof createAccountKeys>

const DATA_KEY_BYTES = 32
/** A few hundred bytes each. */
const IN_MEMORY_MAX = 10_000

export function createAccountKeys({
  file,
  sealingKeys,
  isShared = false,
}: {
  readonly file: SqlStore
  /** Another node may replace a key with the last response that it sealed, so a key in memory is for writes, which notice that. */
  readonly isShared?: boolean
  readonly sealingKeys: readonly [SealingKey, ...SealingKey[]]
}) {
  const wrapping = new Map(sealingKeys.map(({ id, secret }) => [id, deriveKey(secret, 'account-key')]))
  const primary = sealingKeys[0].id
  const known = createLruMap<AccountId, AccountKey>(IN_MEMORY_MAX)

  const wrap = (account: AccountId, named: KeyName, dataKey: Uint8Array): Promise<Uint8Array> =>
    sealBytes(wrapping.get(primary)!, nameOf(account, named), dataKey)
  const make = async (account: AccountId): Promise<void> => {
    const named = { name: randomBytes(12).toString('base64url'), sealed_as: account }
    const wrapped = await wrap(account, named, randomBytes(DATA_KEY_BYTES))
    const insert = statement(INSERT, account, named.name, primary, account, wrapped)
    await file.atomic([insertOwners([account]), insert])
  }
  const read = async (account: AccountId): Promise<FoundAccountKey> => {
    const row = await findRow<WrappedKeyRow>(file, FIND, account)
    if (row === undefined) return { kind: 'none' }
    const opener = wrapping.get(row.ring_key)
    if (opener === undefined) return { kind: 'unreadable' }
    const bound = await openBytes(opener, nameOf(account, row), row.wrapped)
    // An earlier version knew the account by its row number.
    const dataKey =
      bound ?? (row.sealed_as === account ? undefined : await openBytes(opener, olderNameOf(row), row.wrapped))
    if (dataKey === undefined) return { kind: 'unreadable' }
    if (bound === undefined || row.ring_key !== primary) {
      const rewrapped = await wrap(account, row, dataKey)
      // The key is readable even if this write fails; the next read tries again.
      await changeRows(file, REWRAP, [primary, rewrapped, row.name]).catch(() => {})
    }
    return { kind: 'found', key: keysOf(account, row, dataKey) }
  }
  const find = async (account: AccountId): Promise<FoundAccountKey> => {
    const key = isShared ? undefined : known.get(account)
    if (key !== undefined) return { kind: 'found', key }
    const found = await read(account)
    if (found.kind === 'found') known.set(account, found.key)
    return found
  }

  return {
    find,
    /** Created on first use. An unreadable key is not replaced, because it may become readable again: then undefined. */
    async findOrMake(account: AccountId): Promise<AccountKey | undefined> {
      const key = known.get(account)
      if (key !== undefined) return key
      let found = await find(account)
      if (found.kind === 'none') {
        await make(account)
        // Of two concurrent inserts the file has one.
        found = await find(account)
      }
      return found.kind === 'found' ? found.key : undefined
    },
    /** Forgets the key in memory. */
    drop: (account: AccountId) => known.delete(account),
  }
}

type KeyName = Pick<WrappedKeyRow, 'name' | 'sealed_as'>

const nameOf = (account: AccountId, { name, sealed_as }: KeyName): string =>
  `account-key ${account} ${sealed_as} ${name}`
const olderNameOf = ({ name, sealed_as }: KeyName): string => `account-key ${sealed_as} ${name}`

/** The keys that seal and digest all content of an account, derived from its random data key. */
const keysOf = (account: AccountId, { owner, name, sealed_as }: WrappedKeyRow, dataKey: Uint8Array) => ({
  account,
  owner,
  /** Identifies the data key among earlier and later ones of the account. */
  name,
  /** The account name that is bound into every sealed part. */
  sealedAs: sealed_as,
  sealing: createSecretKey(deriveKey(dataKey, 'sealing')),
  itemDigests: createSecretKey(deriveKey(dataKey, 'item-digests')),
  idDigests: createSecretKey(deriveKey(dataKey, 'id-digests')),
})

interface WrappedKeyRow {
  readonly owner: OwnerRow
  readonly name: string
  readonly ring_key: string
  /** The account name in sealed parts: its id, or its row number in parts of an earlier version. */
  readonly sealed_as: string
  readonly wrapped: Uint8Array
}

const FIND = `SELECT owners.owner AS owner, k.name AS name, k.ring_key AS ring_key, k.sealed_as AS sealed_as, k.wrapped AS wrapped
  FROM owners CROSS JOIN account_keys k ON k.account = owners.owner WHERE owners.id = ?`

const INSERT = `INSERT INTO account_keys (account, name, ring_key, sealed_as, wrapped)
  VALUES ((SELECT owner FROM owners WHERE id = ?), ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/** Stores the same data key under another wrapping key. */
const REWRAP = 'UPDATE account_keys SET ring_key = ?, wrapped = ? WHERE name = ?'

/** After this nothing of the account can be read. */
export const destroyKey = (file: SqlStore, owner: OwnerRow) =>
  changeRows(file, 'DELETE FROM account_keys WHERE account = ?', [owner])

const NAMES = `SELECT k.account AS owner, k.name AS name FROM json_each(?) list
  CROSS JOIN account_keys k ON k.account = CAST(list.value AS BIGINT)`

export const listKeyNames = (file: SqlStore, owners: readonly OwnerRow[]) =>
  file.all<{ owner: OwnerRow; name: string }>(NAMES, [JSON.stringify(owners)])

/**
 * The number of an account in content.db, which belongs to one account id for ever. Row numbers of the ledger are not used
 * here, because a ledger restored from a backup assigns them a second time.
 */
export type OwnerRow = Brand<number, 'content-owner'>

/** SQL for the number of an account. */
export const OWNER_OF = (id: string): string => `(SELECT owner FROM owners WHERE id = ${id})`

/** Assigns a number to accounts that have none. */
export const insertOwners = (accounts: readonly AccountId[]): AtomicStatement => ({
  sql: 'INSERT INTO owners (id) VALUES (?) ON CONFLICT DO NOTHING',
  rows: [...new Set(accounts)].map((account) => [account]),
})

export const findOwner = async (file: SqlStore, account: AccountId): Promise<OwnerRow | undefined> =>
  (await findRow<{ owner: OwnerRow }>(file, 'SELECT owner FROM owners WHERE id = ?', account))?.owner

/** A key of the keyring that seals content. */
export interface SealingKey {
  readonly id: string
  readonly secret: Buffer
}

/** Sealing less takes less time than handing it to another thread. */
const ON_LOOP_BYTES_MAX = 16 * 1024

/** A KeyObject is prepared once. Bytes are prepared on each use, which on newer Node costs more than sealing. */
type SealKey = Uint8Array | KeyObject

const bytesOfKey = (key: SealKey): Uint8Array => (key instanceof KeyObject ? key.export() : key)

/** As `sealNow`, on another thread for more than a few bytes. */
export async function sealBytes(key: SealKey, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.length <= ON_LOOP_BYTES_MAX) return sealNow(key, name, bytes)
  const nonce = randomBytes(NONCE_BYTES)
  const sealer = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['encrypt'])
  const sealed = await webcrypto.subtle.encrypt(algorithm(nonce, name), sealer, bytes)
  return Buffer.concat([nonce, new Uint8Array(sealed)])
}

/** Undefined when it was sealed with another key or name, or is damaged. */
export async function openBytes(key: SealKey, name: string, sealed: Uint8Array): Promise<Uint8Array | undefined> {
  if (sealed.length <= ON_LOOP_BYTES_MAX + SEAL_BYTES) return openNow(key, name, sealed)
  const nonce = sealed.subarray(0, NONCE_BYTES)
  try {
    const opener = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['decrypt'])
    const words = sealed.subarray(NONCE_BYTES)
    return new Uint8Array(await webcrypto.subtle.decrypt(algorithm(nonce, name), opener, words))
  } catch {
    return undefined
  }
}

const algorithm = (iv: Uint8Array, name: string) => ({ name: 'AES-GCM', iv, additionalData: Buffer.from(name) })

export interface SealedPart {
  readonly encoding: 'identity' | 'deflate'
  readonly raw_bytes: number
  readonly sealed: Uint8Array
}

/** Parts handled on the event loop without a pause: about a millisecond. */
const PARTS_IN_A_ROW = 64
/** Packing uses threads of the pool, and the ledger's worker needs a processor too. */
const SEALED_AT_ONCE = 2
/** Reading stored content is free, so it must not delay what is being stored. */
const OPENED_AT_ONCE = 1

const passTurnstile = createTurnstile()
const sealing = createQueue(SEALED_AT_ONCE)
const opening = createQueue(OPENED_AT_ONCE)

export async function sealPart(key: AccountKey, name: string, bytes: Buffer): Promise<SealedPart> {
  const packed = await packBody(bytes)
  const sealed = await sealBytes(key.sealing, fullName(key, name), packed.bytes)
  return { encoding: packed.encoding, raw_bytes: bytes.length, sealed }
}

/** Undefined when it was sealed with another key or name, or is damaged. */
export async function openPart(key: AccountKey, name: string, part: SealedPart): Promise<Buffer | undefined> {
  const bytes = await openBytes(key.sealing, fullName(key, name), part.sealed)
  if (bytes === undefined) return undefined
  try {
    const raw = await unpackBody({ encoding: part.encoding, bytes }, part.raw_bytes)
    return raw.length === part.raw_bytes ? raw : undefined
  } catch {
    return undefined
  }
}

type Work<Part, Result> = (part: Part) => Promise<Result>

/** Seals one after the other, yielding in between. */
export const sealInSlices = <Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> =>
  sealing(() => inSlices(parts, work))

export const openInSlices = <Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> =>
  opening(() => inSlices(parts, work))

async function inSlices<Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const part of parts) {
    if (results.length % PARTS_IN_A_ROW === PARTS_IN_A_ROW - 1) await passTurnstile()
    results.push(await work(part))
  }
  return results
}

const fullName = (key: AccountKey, name: string): string => `${key.sealedAs} ${name}`

export const itemName = (digest: string): string => `item ${digest}`
export const objectName = (response: string): string => `response ${response}`
export const segmentName = (response: string, from: number, to: number): string => `events ${response} ${from} ${to}`

interface PackedBody {
  readonly encoding: 'identity' | 'deflate'
  readonly bytes: Uint8Array
}

/** Compressing less saves nothing. */
const WORTH_BYTES = 512
/** Packing less takes less time than handing it to another thread: a tenth of a millisecond at most. */
const PACK_ON_LOOP_BYTES_MAX = 8 * 1024
/** Fast, and enough for text. */
const LEVEL = 2
/** A saving of less than a tenth is not worth unpacking. */
const PACKED_SHARE_MAX = 0.9

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw)
const inflate = promisify<Uint8Array, object, Buffer>(inflateRaw)

/** Compresses where that saves space; on another thread unless it is short. */
export async function packBody(bytes: Uint8Array): Promise<PackedBody> {
  if (bytes.length < WORTH_BYTES) return { encoding: 'identity', bytes }
  const onLoop = bytes.length <= PACK_ON_LOOP_BYTES_MAX
  const packed = onLoop ? deflateRawSync(bytes, { level: LEVEL }) : await deflate(bytes, { level: LEVEL })
  return packed.length < bytes.length * PACKED_SHARE_MAX
    ? { encoding: 'deflate', bytes: packed }
    : { encoding: 'identity', bytes }
}

export async function unpackBody({ encoding, bytes }: PackedBody, rawBytes: number): Promise<Buffer> {
  if (encoding === 'identity') return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const bounds = { maxOutputLength: Math.max(1, rawBytes) }
  return rawBytes <= PACK_ON_LOOP_BYTES_MAX ? inflateRawSync(bytes, bounds) : inflate(bytes, bounds)
}

/** Bytes digested without a pause: a millisecond or less. */
const PAUSE_BYTES = 512 * 1024
/** The fixed cost of an item, in bytes. */
const ITEM_COST_BYTES = 2048

/** Ids are stored as keyed digests: the file shows none, and another account's key finds none. */
export const digestId = (key: AccountKey, kind: 'response' | 'item', id: string): string =>
  createHmac('sha256', key.idDigests).update(`${kind} ${id}`).digest('base64url')

/** Equal items have equal digests within an account, and different ones in different accounts. */
export async function digestItems(key: AccountKey, items: readonly Buffer[]): Promise<string[]> {
  const digests: string[] = []
  let sincePause = 0
  for (const item of items) {
    const hmac = createHmac('sha256', key.itemDigests)
    for (let at = 0; at < item.length; at += PAUSE_BYTES) {
      const piece = item.subarray(at, at + PAUSE_BYTES)
      hmac.update(piece)
      sincePause += piece.length
      if (sincePause >= PAUSE_BYTES) {
        await passTurnstile()
        sincePause = 0
      }
    }
    sincePause += ITEM_COST_BYTES
    digests.push(hmac.digest('base64url'))
  }
  return digests
}
