import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { OwnerRow } from './owners.ts'
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
export const listLinks = (file: SqliteFile, responses: readonly number[]): Promise<LinkRow[]> =>
  file.all<LinkRow>(LINKS, [JSON.stringify(responses)])

export const listOutput = (file: SqliteFile, response: number): Promise<LinkRow[]> =>
  file.all<LinkRow>(
    `SELECT l.item AS item, i.bytes AS bytes FROM response_items l CROSS JOIN items i ON i.item = l.item
     WHERE l.response = ? AND l.side = 1 ORDER BY l.position`,
    [response],
  )

export interface ItemRow extends SealedPart {
  readonly item: number
  readonly digest: string
}

export const listItems = (file: SqliteFile, items: readonly number[]): Promise<ItemRow[]> =>
  file.all<ItemRow>(
    `SELECT i.item AS item, i.digest AS digest, i.encoding AS encoding, i.raw_bytes AS raw_bytes, i.sealed AS sealed
     FROM json_each(?) list CROSS JOIN items i ON i.item = list.value`,
    [JSON.stringify(items)],
  )

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
export const listNamed = (
  file: SqliteFile,
  { owner, ids, now }: { owner: OwnerRow; ids: readonly string[]; now: number },
): Promise<NamedItemRow[]> => file.all<NamedItemRow>(NAMED, [JSON.stringify(ids), owner, now])

const THERE = `SELECT i.account AS owner, i.digest AS digest FROM json_each(?) list
  CROSS JOIN items i ON i.account = list.value ->> 0 AND i.digest = list.value ->> 1`

/** An item by what it is known by. */
export interface KnownItemRow {
  readonly owner: OwnerRow
  readonly digest: string
}

/** Of these items, those that are there. */
export const listThere = (
  file: SqliteFile,
  named: readonly (readonly [owner: OwnerRow, digest: string])[],
): Promise<KnownItemRow[]> => file.all<KnownItemRow>(THERE, [JSON.stringify(named)])
