import type { AccountRow } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'

/** The random data key of an account, as it lies in the file. */
export interface WrappedKeyRow {
  /** Tells it from a later one of the same account. */
  readonly name: string
  readonly ring_key: string
  readonly wrapped: Uint8Array
}

export async function findWrappedKey(file: SqliteFile, account: AccountRow): Promise<WrappedKeyRow | undefined> {
  const sql = 'SELECT name, ring_key, wrapped FROM account_keys WHERE account = ?'
  const [row] = await file.all<WrappedKeyRow>(sql, [account])
  return row
}

const INSERT = 'INSERT INTO account_keys (account, name, ring_key, wrapped) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'

/** Does nothing where there is one: of two that come together one is stored. */
export async function insertWrappedKey(file: SqliteFile, account: AccountRow, key: WrappedKeyRow): Promise<void> {
  await file.atomic([{ sql: INSERT, rows: [[account, key.name, key.ring_key, key.wrapped]] }])
}

/** The same data key, wrapped anew. */
export async function rewrapKey(file: SqliteFile, account: AccountRow, key: WrappedKeyRow): Promise<void> {
  const sql = 'UPDATE account_keys SET ring_key = ?, wrapped = ? WHERE account = ? AND name = ?'
  await file.atomic([{ sql, rows: [[key.ring_key, key.wrapped, account, key.name]] }])
}

/** From then on nothing of the account can be read. */
export async function destroyKey(file: SqliteFile, account: AccountRow): Promise<void> {
  await file.atomic([{ sql: 'DELETE FROM account_keys WHERE account = ?', rows: [[account]] }])
}

const NAMES = `SELECT k.account AS account, k.name AS name FROM json_each(?) list
  CROSS JOIN account_keys k ON k.account = list.value`

export interface KeyNameRow {
  readonly account: AccountRow
  readonly name: string
}

/** What the keys of these accounts are called now. */
export const listKeyNames = (file: SqliteFile, accounts: readonly AccountRow[]): Promise<KeyNameRow[]> =>
  file.all<KeyNameRow>(NAMES, [JSON.stringify(accounts)])
