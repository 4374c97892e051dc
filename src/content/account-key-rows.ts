import type { AccountId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { insertOwners, type OwnerRow } from './owners.ts'

/** The random data key of an account, as it lies in the file. */
export interface WrappedKeyRow {
  /** Tells it from a later one of the same account. */
  readonly name: string
  readonly ring_key: string
  /** What the parts that it seals call their account: its id, or its row number where they are older than ids in this file. */
  readonly sealed_as: string
  readonly wrapped: Uint8Array
}

const FIND = `SELECT owners.owner AS owner, k.name AS name, k.ring_key AS ring_key, k.sealed_as AS sealed_as, k.wrapped AS wrapped
  FROM owners CROSS JOIN account_keys k ON k.account = owners.owner WHERE owners.id = ?`

export async function findWrappedKey(
  file: SqliteFile,
  account: AccountId,
): Promise<(WrappedKeyRow & { readonly owner: OwnerRow }) | undefined> {
  const [row] = await file.all<WrappedKeyRow & { readonly owner: OwnerRow }>(FIND, [account])
  return row
}

const INSERT = `INSERT INTO account_keys (account, name, ring_key, sealed_as, wrapped)
  VALUES ((SELECT owner FROM owners WHERE id = ?), ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/** Does nothing where there is one: of two that come together one is stored. */
export async function insertWrappedKey(file: SqliteFile, account: AccountId, key: WrappedKeyRow): Promise<void> {
  const row = [account, key.name, key.ring_key, key.sealed_as, key.wrapped]
  await file.atomic([insertOwners([account]), { sql: INSERT, rows: [row] }])
}

/** The same data key, wrapped anew. */
export async function rewrapKey(file: SqliteFile, key: WrappedKeyRow): Promise<void> {
  const sql = 'UPDATE account_keys SET ring_key = ?, wrapped = ? WHERE name = ?'
  await file.atomic([{ sql, rows: [[key.ring_key, key.wrapped, key.name]] }])
}

/** From then on nothing of the account can be read. */
export async function destroyKey(file: SqliteFile, owner: OwnerRow): Promise<void> {
  await file.atomic([{ sql: 'DELETE FROM account_keys WHERE account = ?', rows: [[owner]] }])
}

const NAMES = `SELECT k.account AS owner, k.name AS name FROM json_each(?) list
  CROSS JOIN account_keys k ON k.account = list.value`

export interface KeyNameRow {
  readonly owner: OwnerRow
  readonly name: string
}

/** What the keys of these accounts are called now. */
export const listKeyNames = (file: SqliteFile, owners: readonly OwnerRow[]): Promise<KeyNameRow[]> =>
  file.all<KeyNameRow>(NAMES, [JSON.stringify(owners)])
