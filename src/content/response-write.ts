import type { RequestId } from '../model/ids.ts'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'
import type { AccountKey } from './account-keys.ts'
import type { SealedPart } from './sealed-part.ts'

/** A row of a table, and what counts for the room it takes beside what is sealed: keys, indexes, pages. */
const RESPONSE_ROW_BYTES = 320
const ITEM_ROW_BYTES = 192
const LINK_ROW_BYTES = 24
const SEGMENT_ROW_BYTES = 96

/** One change of one response, sealed and ready to be written. */
export interface ResponseWrite {
  readonly key: AccountKey
  /** The digest of its id, as every id here is one. */
  readonly id: string
  /** What is written of a response that is not there yet; undefined where that is no reason to make one. */
  readonly fresh: FreshResponse | undefined
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly object: SealedPart
  readonly facts: string | null
  readonly log: 'none' | 'kept' | 'too-large'
  readonly isAsSent: boolean
  /** Digests, in their order. */
  readonly input: readonly string[]
  readonly output: readonly OutputItem[]
  readonly itemBytes: number
  /** Those that were not there when it was looked for them. */
  readonly items: readonly SealedItem[]
  readonly segments: readonly SealedSegment[]
}

export interface FreshResponse {
  readonly requestId: RequestId
  readonly createdAt: number
  readonly expiresAt: number
  readonly parent: string | undefined
}

export interface OutputItem {
  readonly digest: string
  /** The digest of its id. */
  readonly id: string | null
}

export interface SealedItem extends SealedPart {
  readonly digest: string
  readonly id: string | null
}

export interface SealedSegment extends SealedPart {
  readonly from: number
  readonly to: number
}

const ownBytes = ({ object, input, output }: ResponseWrite): number =>
  RESPONSE_ROW_BYTES + object.sealed.length + LINK_ROW_BYTES * (input.length + output.length)
const itemBytes = ({ sealed }: SealedItem): number => ITEM_ROW_BYTES + sealed.length
const segmentBytes = ({ sealed }: SealedSegment): number => SEGMENT_ROW_BYTES + sealed.length

/** The room that it takes at most. */
export const bytesOfWrite = (write: ResponseWrite): number =>
  ownBytes(write) +
  write.items.reduce((sum, item) => sum + itemBytes(item), 0) +
  write.segments.reduce((sum, segment) => sum + segmentBytes(segment), 0)

const RESPONSE = '(SELECT response FROM responses WHERE account = ?1 AND id = ?2)'

const INSERT = `INSERT INTO responses
  (account, id, request_id, created_at, expires_at, status, parent, items, item_bytes, log, bytes, facts, as_sent)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT response FROM responses WHERE account = ?1 AND id = ?7), ?8, ?9, ?10, ?11, ?12, ?13)`
const UPDATE = `UPDATE responses SET status = ?3, items = ?4, item_bytes = ?5, log = ?6, bytes = ?7, facts = ?8, as_sent = ?9
  WHERE account = ?1 AND id = ?2 AND status = 'in_progress'`
const OBJECT = `INSERT INTO response_objects (response, encoding, raw_bytes, sealed) VALUES (${RESPONSE}, ?3, ?4, ?5)
  ON CONFLICT (response) DO UPDATE
  SET encoding = excluded.encoding, raw_bytes = excluded.raw_bytes, sealed = excluded.sealed`
const ITEM = `INSERT INTO items (account, digest, id, encoding, raw_bytes, bytes, sealed) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, digest) DO NOTHING`
/** A client may have sent an answer's item back before the answer was stored. */
const NAME_ITEM = 'UPDATE items SET id = ?3 WHERE account = ?1 AND digest = ?2 AND id IS NULL'
/** An item that is not there makes a link to nothing, which the table refuses. */
const LINK = `INSERT INTO response_items (response, side, position, item)
  SELECT ${RESPONSE}, ?3, list.key, (SELECT item FROM items WHERE account = ?1 AND digest = list.value)
  FROM json_each(?4) list`
const SEGMENT = `INSERT INTO events (response, from_sequence, to_sequence, encoding, raw_bytes, bytes, sealed)
  VALUES (${RESPONSE}, ?3, ?4, ?5, ?6, ?7, ?8)`

/** What a group of changes is as one transaction. `isFresh` says which of them are the first of their response. */
export function statementsOf(
  writes: readonly ResponseWrite[],
  isFresh: (write: ResponseWrite) => boolean,
): AtomicStatement[] {
  const each = (row: (write: ResponseWrite) => SqlValue[][]): SqlValue[][] => writes.flatMap(row)
  const statements: AtomicStatement[] = [
    { sql: INSERT, rows: each((write) => (isFresh(write) ? [insertRow(write)] : [])), expectChanges: 1 },
    { sql: UPDATE, rows: each((write) => (isFresh(write) ? [] : [updateRow(write)])), expectChanges: 1 },
    { sql: OBJECT, rows: each((write) => [[...whose(write), ...partRow(write.object)]]), expectChanges: 1 },
    { sql: ITEM, rows: each((write) => write.items.map((item) => itemRow(write, item))) },
    { sql: NAME_ITEM, rows: each(namedRows) },
    { sql: LINK, rows: each(linkRows) },
    {
      sql: SEGMENT,
      rows: each((write) => write.segments.map((segment) => segmentRow(write, segment))),
      expectChanges: 1,
    },
  ]
  return statements.filter(({ rows }) => rows.length > 0)
}

const whose = ({ key, id }: ResponseWrite): SqlValue[] => [key.owner, id]
const partRow = ({ encoding, raw_bytes, sealed }: SealedPart): SqlValue[] => [encoding, raw_bytes, sealed]
const countOf = ({ input, output }: ResponseWrite): number => input.length + output.length

function insertRow(write: ResponseWrite): SqlValue[] {
  const { fresh, status, log, facts, isAsSent } = write
  if (fresh === undefined) throw new Error('a change of a response that is not there makes none')
  const times = [fresh.requestId, fresh.createdAt, fresh.expiresAt]
  const sizes = [countOf(write), write.itemBytes, log, ownBytes(write), facts, Number(isAsSent)]
  return [...whose(write), ...times, status, fresh.parent ?? null, ...sizes]
}

const updateRow = (write: ResponseWrite): SqlValue[] => [
  ...[...whose(write), write.status, countOf(write), write.itemBytes],
  ...[write.log, ownBytes(write), write.facts, Number(write.isAsSent)],
]

const itemRow = ({ key }: ResponseWrite, item: SealedItem): SqlValue[] => {
  const { encoding, raw_bytes, sealed } = item
  return [key.owner, item.digest, item.id, encoding, raw_bytes, itemBytes(item), sealed]
}

const namedRows = ({ key, output }: ResponseWrite): SqlValue[][] =>
  output.flatMap(({ digest, id }) => (id === null ? [] : [[key.owner, digest, id]]))

function linkRows(write: ResponseWrite): SqlValue[][] {
  const sides = [write.input, write.output.map(({ digest }) => digest)]
  return sides.flatMap((digests, side) =>
    digests.length === 0 ? [] : [[...whose(write), side, JSON.stringify(digests)]],
  )
}

const segmentRow = (write: ResponseWrite, segment: SealedSegment): SqlValue[] => {
  const { from, to, encoding, raw_bytes, sealed } = segment
  return [...whose(write), from, to, encoding, raw_bytes, segmentBytes(segment), sealed]
}
