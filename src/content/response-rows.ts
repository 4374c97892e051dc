import type { RequestId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { OwnerRow } from './owners.ts'
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
  { owner, id, now }: { owner: OwnerRow; id: string; now: number },
): Promise<ResponseRow | undefined> {
  const sql = 'SELECT response, status, log FROM responses WHERE account = ? AND id = ? AND expires_at > ?'
  const [row] = await file.all<ResponseRow>(sql, [owner, id, now])
  return row
}

export async function findObject(file: SqliteFile, response: number): Promise<SealedPart | undefined> {
  const sql = 'SELECT encoding, raw_bytes, sealed FROM response_objects WHERE response = ?'
  const [row] = await file.all<SealedPart>(sql, [response])
  return row
}

export async function findFacts(
  file: SqliteFile,
  requestId: RequestId,
): Promise<{ facts: string; as_sent: 0 | 1 } | undefined> {
  const sql = 'SELECT facts, as_sent FROM responses WHERE request_id = ? AND facts IS NOT NULL'
  const [row] = await file.all<{ facts: string; as_sent: 0 | 1 }>(sql, [requestId])
  return row
}

/** Of an account, the response of this request that is there as it was sent, and can still be asked for. */
export async function findSent(
  file: SqliteFile,
  { owner, requestId, now }: { owner: OwnerRow; requestId: RequestId; now: number },
): Promise<{ response: number; id: string } | undefined> {
  const sql = `SELECT response, id FROM responses
    WHERE request_id = ? AND facts IS NOT NULL AND account = ? AND as_sent = 1 AND expires_at > ?`
  const [row] = await file.all<{ response: number; id: string }>(sql, [requestId, owner, now])
  return row
}

export async function findLogSize(
  file: SqliteFile,
  response: number,
): Promise<{ bytes: number; last: number } | undefined> {
  const sql = 'SELECT SUM(raw_bytes) AS bytes, MAX(to_sequence) AS last FROM events WHERE response = ?'
  const [row] = await file.all<{ bytes: number | null; last: number | null }>(sql, [response])
  return row?.bytes == null || row.last === null ? undefined : { bytes: row.bytes, last: row.last }
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
export const listChain = (file: SqliteFile, response: number, lengthMax: number): Promise<ChainRow[]> =>
  file.all<ChainRow>(CHAIN, [response, lengthMax])

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
  const [row] = await file.all<SegmentRow>(sql, [response, sequence])
  return row
}

export async function findLastSequence(file: SqliteFile, response: number): Promise<number | undefined> {
  const sql = 'SELECT to_sequence FROM events WHERE response = ? ORDER BY to_sequence DESC LIMIT 1'
  const [row] = await file.all<Pick<SegmentRow, 'to_sequence'>>(sql, [response])
  return row?.to_sequence
}

const STATES = `SELECT r.account AS owner, r.id AS id, r.status AS status FROM json_each(?) list
  CROSS JOIN responses r ON r.account = list.value ->> 0 AND r.id = list.value ->> 1`

export interface StateRow {
  readonly owner: OwnerRow
  /** The digest of its id. */
  readonly id: string
  readonly status: ResponseStatus
}

/** The states of those of these that are there. */
export const listStates = (
  file: SqliteFile,
  named: readonly (readonly [owner: OwnerRow, id: string])[],
): Promise<StateRow[]> => file.all<StateRow>(STATES, [JSON.stringify(named)])
