import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { deriveKey } from '../lib/derive-key.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { findWrappedKey, insertWrappedKey, rewrapKey, type WrappedKeyRow } from './account-key-rows.ts'
import type { OwnerRow } from './owners.ts'
import { openBytes, type SealingKey, sealBytes } from './seal-bytes.ts'

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

export type FoundAccountKey =
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
