import type { AccountRow } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { SealedPart } from './sealed-part.ts'

/** An item where a response refers to it. */
export interface LinkRow {
  readonly item: number
  readonly bytes: number
}

const LINKS = `SELECT l.item AS item, i.bytes AS bytes
  FROM json_each(?) list
  CROSS JOIN response_items l ON l.response = list.value
  CROSS JOIN items i ON i.item = l.item
  ORDER BY list.key, l.side, l.position`

/** What these responses refer to, in their order. */
export const listLinks = async (file: SqliteFile, responses: readonly number[]): Promise<LinkRow[]> =>
  (await file.all(LINKS, [JSON.stringify(responses)])) as unknown as LinkRow[]

export const listOutput = async (file: SqliteFile, response: number): Promise<LinkRow[]> =>
  (await file.all(
    `SELECT l.item AS item, i.bytes AS bytes FROM response_items l CROSS JOIN items i ON i.item = l.item
     WHERE l.response = ? AND l.side = 1 ORDER BY l.position`,
    [response],
  )) as unknown as LinkRow[]

export interface ItemRow extends SealedPart {
  readonly item: number
  readonly digest: string
}

export const listItems = async (file: SqliteFile, items: readonly number[]): Promise<ItemRow[]> =>
  (await file.all(
    `SELECT i.item AS item, i.digest AS digest, i.encoding AS encoding, i.raw_bytes AS raw_bytes, i.sealed AS sealed
     FROM json_each(?) list CROSS JOIN items i ON i.item = list.value`,
    [JSON.stringify(items)],
  )) as unknown as ItemRow[]

/** Where an id leads. */
export interface NamedItemRow extends LinkRow {
  readonly id: string
  readonly raw_bytes: number
}

const NAMED = `SELECT i.id AS id, i.item AS item, i.bytes AS bytes, i.raw_bytes AS raw_bytes
  FROM json_each(?) list
  CROSS JOIN items i ON i.account = ? AND i.id = list.value
  WHERE EXISTS (
    SELECT 1 FROM response_items l CROSS JOIN responses r ON r.response = l.response
    WHERE l.item = i.item AND r.expires_at > ?
  )
  ORDER BY i.item`

/** Items by the digests of their ids, as far as a response that can still be asked for has them. */
export const listNamed = async (
  file: SqliteFile,
  { account, ids, now }: { account: AccountRow; ids: readonly string[]; now: number },
): Promise<NamedItemRow[]> => (await file.all(NAMED, [JSON.stringify(ids), account, now])) as unknown as NamedItemRow[]

const THERE = `SELECT i.account AS account, i.digest AS digest FROM json_each(?) list
  CROSS JOIN items i ON i.account = list.value ->> 0 AND i.digest = list.value ->> 1`

/** Of these items, those that are there. */
export const listThere = async (
  file: SqliteFile,
  named: readonly (readonly [account: AccountRow, digest: string])[],
): Promise<{ readonly account: AccountRow; readonly digest: string }[]> =>
  (await file.all(THERE, [JSON.stringify(named)])) as unknown as { account: AccountRow; digest: string }[]
