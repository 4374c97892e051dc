import type { AccountRow, RequestId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { SealedPart } from './sealed-part.ts'

/** As `status` of a response spells it. */
export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** All of a response but what is sealed. */
export interface ResponseRow {
  readonly response: number
  readonly status: ResponseStatus
  readonly log: 'none' | 'kept' | 'too-large'
}

/** One that can still be asked for: neither expired nor deleted. */
export async function findShown(
  file: SqliteFile,
  { account, id, now }: { account: AccountRow; id: string; now: number },
): Promise<ResponseRow | undefined> {
  const sql = 'SELECT response, status, log FROM responses WHERE account = ? AND id = ? AND expires_at > ?'
  const [row] = await file.all(sql, [account, id, now])
  return row as unknown as ResponseRow | undefined
}

export async function findObject(file: SqliteFile, response: number): Promise<SealedPart | undefined> {
  const sql = 'SELECT encoding, raw_bytes, sealed FROM response_objects WHERE response = ?'
  const [row] = await file.all(sql, [response])
  return row as unknown as SealedPart | undefined
}

export async function findFacts(file: SqliteFile, requestId: RequestId): Promise<string | undefined> {
  const sql = 'SELECT facts FROM responses WHERE request_id = ? AND facts IS NOT NULL'
  const [row] = await file.all(sql, [requestId])
  return row?.facts as string | undefined
}

/** One link of a chain: how much hangs on it. */
export interface ChainRow {
  readonly response: number
  readonly items: number
  readonly item_bytes: number
}

const CHAIN = `WITH RECURSIVE chain (response, parent, items, item_bytes, depth) AS (
    SELECT response, parent, items, item_bytes, 0 FROM responses WHERE response = ?1
    UNION ALL
    SELECT r.response, r.parent, r.items, r.item_bytes, chain.depth + 1
    FROM chain CROSS JOIN responses r ON r.response = chain.parent WHERE chain.depth < ?2
  )
  SELECT response, items, item_bytes FROM chain ORDER BY depth DESC`

/** From its first response to this one; one more than `lengthMax` when it is longer. */
export const listChain = async (file: SqliteFile, response: number, lengthMax: number): Promise<ChainRow[]> =>
  (await file.all(CHAIN, [response, lengthMax])) as unknown as ChainRow[]

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

/** A segment of the events, as long as it is sealed. */
export interface SegmentRow extends SealedPart {
  readonly from_sequence: number
  readonly to_sequence: number
}

/** The next segment that has something behind this number. */
export async function findSegmentAfter(
  file: SqliteFile,
  response: number,
  sequence: number,
): Promise<SegmentRow | undefined> {
  const sql = `SELECT from_sequence, to_sequence, encoding, raw_bytes, sealed FROM events
    WHERE response = ? AND to_sequence > ? ORDER BY to_sequence LIMIT 1`
  const [row] = await file.all(sql, [response, sequence])
  return row as unknown as SegmentRow | undefined
}

export async function findLastSequence(file: SqliteFile, response: number): Promise<number | undefined> {
  const sql = 'SELECT to_sequence FROM events WHERE response = ? ORDER BY to_sequence DESC LIMIT 1'
  const [row] = await file.all(sql, [response])
  return row?.to_sequence as number | undefined
}
