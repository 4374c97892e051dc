import { createHmac, createSecretKey, KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { createQueue, createTurnstile } from '../../lib/async.ts'
import { deriveKey, NONCE_BYTES, openNow, SEAL_BYTES, sealNow } from '../../lib/crypto.ts'
import { createLruMap } from '../../lib/lru-map.ts'
import type { Brand } from '../../lib/types.ts'
import type { AccountId } from '../../model/ids.ts'
import type { AtomicStatement, SqliteFile } from '../sqlite/sqlite-file.ts'

/** What everything of one account is sealed and digested with; all derived from its one random data key. */
export interface AccountKey {
  readonly account: AccountId
  readonly owner: OwnerRow
  /** Tells one data key of the account from a later one. */
  readonly name: string
  /** What is bound into every part that it seals. */
  readonly sealedAs: string
  readonly sealing: KeyObject
  readonly itemDigests: KeyObject
  readonly idDigests: KeyObject
}

type FoundAccountKey =
  | { readonly kind: 'found'; readonly key: AccountKey }
  | { readonly kind: 'none' }
  /** It was wrapped by a key that is not on the ring, or is damaged. */
  | { readonly kind: 'unreadable' }

export interface AccountKeys {
  find(account: AccountId): Promise<FoundAccountKey>
  /** Made on first use. Undefined when the one that is there cannot be read: it is not replaced, it may be readable again. */
  findOrMake(account: AccountId): Promise<AccountKey | undefined>
  /** What memory knows of it is read anew. */
  drop(account: AccountId): void
}

const DATA_KEY_BYTES = 32
/** A few hundred bytes each. */
const IN_MEMORY_MAX = 10_000

export function createAccountKeys(deps: {
  readonly file: SqliteFile
  readonly ring: readonly [SealingKey, ...SealingKey[]]
}): AccountKeys {
  const { file } = deps
  const wrapping = new Map(deps.ring.map(({ id, secret }) => [id, deriveKey(secret, 'account-key')]))
  const primary = deps.ring[0].id
  const known = createLruMap<AccountId, AccountKey>(IN_MEMORY_MAX)

  const wrap = async (account: AccountId, named: KeyName, dataKey: Uint8Array): Promise<WrappedKeyRow> => {
    const wrapped = await sealBytes(wrapping.get(primary)!, nameOf(account, named), dataKey)
    return { ...named, ring_key: primary, wrapped }
  }
  const make = async (account: AccountId): Promise<void> => {
    const named = { name: randomBytes(12).toString('base64url'), sealed_as: account }
    await insertWrappedKey(file, account, await wrap(account, named, randomBytes(DATA_KEY_BYTES)))
  }
  const read = async (account: AccountId): Promise<FoundAccountKey> => {
    const row = await findWrappedKey(file, account)
    if (row === undefined) return { kind: 'none' }
    const { name, sealed_as, wrapped } = row
    const opener = wrapping.get(row.ring_key)
    if (opener === undefined) return { kind: 'unreadable' }
    const bound = await openBytes(opener, nameOf(account, row), wrapped)
    // Wrapped by a version that knew the account by its row number.
    const dataKey = bound ?? (sealed_as === account ? undefined : await openBytes(opener, olderNameOf(row), wrapped))
    if (dataKey === undefined) return { kind: 'unreadable' }
    if (bound === undefined || row.ring_key !== primary) {
      const anew = await wrap(account, { name, sealed_as }, dataKey)
      // It has been read, whatever the disk says to this: whoever meets it next tries again.
      await rewrapKey(file, anew).catch(() => {})
    }
    return { kind: 'found', key: keysOf(account, row, dataKey) }
  }
  const find = async (account: AccountId): Promise<FoundAccountKey> => {
    const key = known.get(account)
    if (key !== undefined) return { kind: 'found', key }
    const found = await read(account)
    if (found.kind === 'found') known.set(account, found.key)
    return found
  }

  return {
    find,
    async findOrMake(account) {
      let found = await find(account)
      if (found.kind === 'none') {
        await make(account)
        // Two may have made one at the same moment: the file says whose it is.
        found = await find(account)
      }
      return found.kind === 'found' ? found.key : undefined
    },
    drop: (account) => known.delete(account),
  }
}

type KeyName = Pick<WrappedKeyRow, 'name' | 'sealed_as'>

const nameOf = (account: AccountId, { name, sealed_as }: KeyName): string =>
  `account-key ${account} ${sealed_as} ${name}`
const olderNameOf = ({ name, sealed_as }: KeyName): string => `account-key ${sealed_as} ${name}`

const keysOf = (
  account: AccountId,
  { owner, name, sealed_as: sealedAs }: KeyName & { readonly owner: OwnerRow },
  dataKey: Uint8Array,
): AccountKey => ({
  account,
  owner,
  name,
  sealedAs,
  sealing: createSecretKey(deriveKey(dataKey, 'sealing')),
  itemDigests: createSecretKey(deriveKey(dataKey, 'item-digests')),
  idDigests: createSecretKey(deriveKey(dataKey, 'id-digests')),
})

/** The random data key of an account, as it lies in the file. */
interface WrappedKeyRow {
  /** Tells it from a later one of the same account. */
  readonly name: string
  readonly ring_key: string
  /** What the parts that it seals call their account: its id, or its row number where they are older than ids in this file. */
  readonly sealed_as: string
  readonly wrapped: Uint8Array
}

const FIND = `SELECT owners.owner AS owner, k.name AS name, k.ring_key AS ring_key, k.sealed_as AS sealed_as, k.wrapped AS wrapped
  FROM owners CROSS JOIN account_keys k ON k.account = owners.owner WHERE owners.id = ?`

async function findWrappedKey(
  file: SqliteFile,
  account: AccountId,
): Promise<(WrappedKeyRow & { readonly owner: OwnerRow }) | undefined> {
  const [row] = await file.all<WrappedKeyRow & { readonly owner: OwnerRow }>(FIND, [account])
  return row
}

const INSERT = `INSERT INTO account_keys (account, name, ring_key, sealed_as, wrapped)
  VALUES ((SELECT owner FROM owners WHERE id = ?), ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/** Does nothing where there is one: of two that come together one is stored. */
async function insertWrappedKey(file: SqliteFile, account: AccountId, key: WrappedKeyRow): Promise<void> {
  const row = [account, key.name, key.ring_key, key.sealed_as, key.wrapped]
  await file.atomic([insertOwners([account]), { sql: INSERT, rows: [row] }])
}

/** The same data key, wrapped anew. */
async function rewrapKey(file: SqliteFile, key: WrappedKeyRow): Promise<void> {
  const sql = 'UPDATE account_keys SET ring_key = ?, wrapped = ? WHERE name = ?'
  await file.atomic([{ sql, rows: [[key.ring_key, key.wrapped, key.name]] }])
}

/** From then on nothing of the account can be read. */
export async function destroyKey(file: SqliteFile, owner: OwnerRow): Promise<void> {
  await file.atomic([{ sql: 'DELETE FROM account_keys WHERE account = ?', rows: [[owner]] }])
}

const NAMES = `SELECT k.account AS owner, k.name AS name FROM json_each(?) list
  CROSS JOIN account_keys k ON k.account = list.value`

interface KeyNameRow {
  readonly owner: OwnerRow
  readonly name: string
}

/** What the keys of these accounts are called now. */
export const listKeyNames = (file: SqliteFile, owners: readonly OwnerRow[]): Promise<KeyNameRow[]> =>
  file.all<KeyNameRow>(NAMES, [JSON.stringify(owners)])

/**
 * What content.db calls an account in its own rows. The number is given out by content.db and belongs to one account id for
 * ever. Row numbers of the ledger are not used here: a ledger that is restored from a backup gives them out a second time.
 */
export type OwnerRow = Brand<number, 'content-owner'>

/** The number of an account, inside a statement that names its id. */
export const OWNER_OF = (id: string): string => `(SELECT owner FROM owners WHERE id = ${id})`

/** Gives a number to those of these accounts that have none yet. */
export const insertOwners = (accounts: readonly AccountId[]): AtomicStatement => ({
  sql: 'INSERT INTO owners (id) VALUES (?) ON CONFLICT DO NOTHING',
  rows: [...new Set(accounts)].map((account) => [account]),
})

export async function findOwner(file: SqliteFile, account: AccountId): Promise<OwnerRow | undefined> {
  const [row] = await file.all<{ owner: OwnerRow }>('SELECT owner FROM owners WHERE id = ?', [account])
  return row?.owner
}

/** One key of the ring, by which what is kept is sealed. */
export interface SealingKey {
  readonly id: string
  readonly secret: Buffer
}

/** Less is sealed sooner than another thread can be asked to; more is not the loop's work. */
const ON_LOOP_BYTES_MAX = 16 * 1024

/** A key object is made ready once; from bytes every use makes one of its own, which on newer Node costs more than sealing. */
type SealKey = Uint8Array | KeyObject

const bytesOfKey = (key: SealKey): Uint8Array => (key instanceof KeyObject ? key.export() : key)

/** As `sealNow`, which does the small ones. */
export async function sealBytes(key: SealKey, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.length <= ON_LOOP_BYTES_MAX) return sealNow(key, name, bytes)
  const nonce = randomBytes(NONCE_BYTES)
  const sealer = await webcrypto.subtle.importKey('raw', bytesOfKey(key), 'AES-GCM', false, ['encrypt'])
  const sealed = await webcrypto.subtle.encrypt(algorithm(nonce, name), sealer, bytes)
  return Buffer.concat([nonce, new Uint8Array(sealed)])
}

/** Undefined when it was sealed by another key or under another name, or is damaged. */
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

/** Something of an account as it lies in the file. */
export interface SealedPart {
  readonly encoding: 'identity' | 'deflate'
  readonly raw_bytes: number
  readonly sealed: Uint8Array
}

/** What is done on the loop's thread is done so many times without a pause: about a millisecond. */
const PARTS_IN_A_ROW = 64
/** Packing takes other threads than the loop's, and their processors: the ledger's thread needs one too. */
const SEALED_AT_ONCE = 2
/** Whoever asks for what is stored pays nothing for it: what is being stored must not wait behind it. */
const OPENED_AT_ONCE = 1

const passTurnstile = createTurnstile()
const sealing = createQueue(SEALED_AT_ONCE)
const opening = createQueue(OPENED_AT_ONCE)

export async function sealPart(key: AccountKey, name: string, bytes: Buffer): Promise<SealedPart> {
  const packed = await packBody(bytes)
  const sealed = await sealBytes(key.sealing, fullName(key, name), packed.bytes)
  return { encoding: packed.encoding, raw_bytes: bytes.length, sealed }
}

/** Undefined when it was sealed under another name or by another key, or is damaged. */
export async function openPart(key: AccountKey, name: string, part: SealedPart): Promise<Buffer | undefined> {
  const bytes = await openBytes(key.sealing, fullName(key, name), part.sealed)
  if (bytes === undefined) return undefined
  try {
    const { encoding } = part
    const raw = await unpackBody({ encoding, bytes }, part.raw_bytes)
    return raw.length === part.raw_bytes ? Buffer.from(raw.buffer, raw.byteOffset, raw.length) : undefined
  } catch {
    return undefined
  }
}

type Work<Part, Result> = (part: Part) => Promise<Result>

/** Seals one after the other, with room for others between them. */
export const sealInSlices = <Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> =>
  sealing(() => inSlices(parts, work))

/** The same for what is opened. */
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

/** Less saves nothing that is worth a look. */
const WORTH_BYTES = 512
/** Less is packed and unpacked sooner than another thread can be asked to: a tenth of a millisecond at most. */
const PACK_ON_LOOP_BYTES_MAX = 8 * 1024
/** Quick, and text repeats itself enough for it. */
const LEVEL = 2
/** What saves less than a tenth is not worth unpacking each time. */
const PACKED_SHARE_MAX = 0.9

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw)
const inflate = promisify<Uint8Array, object, Buffer>(inflateRaw)

/** Compressed where that pays; on another thread than the loop's, unless it is short. */
export async function packBody(bytes: Uint8Array): Promise<PackedBody> {
  if (bytes.length < WORTH_BYTES) return { encoding: 'identity', bytes }
  const onLoop = bytes.length <= PACK_ON_LOOP_BYTES_MAX
  const packed = onLoop ? deflateRawSync(bytes, { level: LEVEL }) : await deflate(bytes, { level: LEVEL })
  return packed.length < bytes.length * PACKED_SHARE_MAX
    ? { encoding: 'deflate', bytes: packed }
    : { encoding: 'identity', bytes }
}

export async function unpackBody({ encoding, bytes }: PackedBody, rawBytes: number): Promise<Uint8Array> {
  if (encoding === 'identity') return bytes
  const bounds = { maxOutputLength: Math.max(1, rawBytes) }
  return rawBytes <= PACK_ON_LOOP_BYTES_MAX ? inflateRawSync(bytes, bounds) : inflate(bytes, bounds)
}

/** Digested without a pause: a millisecond or less, be it one item or many. */
const PAUSE_BYTES = 512 * 1024
/** An item costs as much as so many bytes, however short it is. */
const ITEM_COST_BYTES = 2048

/** What an id is looked up by: who reads the file finds none, and none of another account is ever hit. */
export const digestId = (key: AccountKey, kind: 'response' | 'item', id: string): string =>
  createHmac('sha256', key.idDigests).update(`${kind} ${id}`).digest('base64url')

/** The same item of the same account has the same digest; whether two accounts have said the same cannot be seen. */
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
