import type { RequestId } from '../../model/ids.ts'
import { type AtomicStatement, changeRows, findRow, type SqlStore } from '../sql-store.ts'
import { leaveBodies, READ_ITEMS, READ_OBJECT, READ_SEGMENT } from './bodies.ts'
import type { OwnerRow, SealedPart } from './sealing.ts'

/** As `status` of a response spells it. */
export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

export interface ResponseRow {
  readonly response: number
  readonly status: ResponseStatus
  readonly log: 'none' | 'kept' | 'too-large'
}

/** A response by the digest of its id. */
interface Named {
  readonly owner: OwnerRow
  readonly id: string
}

/** A response that is looked for, of any person or of one. */
interface Sought extends Named {
  readonly person?: number | undefined
  readonly now: number
}

const OF_PERSON = 'COALESCE(person, 0) = COALESCE(CAST(? AS BIGINT), person, 0)'
const IS_SOUGHT = `account = ? AND id = ? AND expires_at > ? AND ${OF_PERSON}`
const soughtBy = ({ owner, id, now, person }: Sought) => [owner, id, now, person ?? null]

const SHOWN = `SELECT response, status, log FROM responses WHERE ${IS_SOUGHT}`

/** A response that is neither expired nor deleted. */
export const findShown = (file: SqlStore, sought: Sought) => findRow<ResponseRow>(file, SHOWN, ...soughtBy(sought))

export const findObject = (file: SqlStore, response: number) => findRow<SealedPart>(file, READ_OBJECT, response)

const OBJECT_BYTES = 'SELECT raw_bytes FROM response_objects WHERE response = ?'

/** What its JSON without its output takes in memory. */
export const findObjectBytes = async (file: SqlStore, response: number): Promise<number> =>
  (await findRow<{ raw_bytes: number }>(file, OBJECT_BYTES, response))?.raw_bytes ?? 0

const FACTS = 'SELECT facts, as_sent FROM responses WHERE request_id = ? AND facts IS NOT NULL'

export const findFacts = (file: SqlStore, requestId: RequestId) =>
  findRow<{ facts: string; as_sent: 0 | 1 }>(file, FACTS, requestId)

const SENT = `SELECT response, id FROM responses
  WHERE request_id = ? AND facts IS NOT NULL AND account = ? AND as_sent = 1 AND expires_at > ?`

/** The response of this request with the log of its stream as it was sent. */
export const findSent = (
  file: SqlStore,
  { owner, requestId, now }: { owner: OwnerRow; requestId: RequestId; now: number },
) => findRow<{ response: number; id: string }>(file, SENT, requestId, owner, now)

/** The bytes and the last number of a log; undefined when there is none. */
export const findLogSize = (file: SqlStore, response: number) =>
  findRow<{ bytes: number; last: number }>(
    file,
    'SELECT SUM(raw_bytes) AS bytes, MAX(to_sequence) AS last FROM events WHERE response = ? HAVING COUNT(*) > 0',
    response,
  )

const LAST_EVENT = 'SELECT to_sequence AS last FROM events WHERE response = ? ORDER BY to_sequence DESC LIMIT 1'

/** The number of the last event; undefined when there is none. */
export const findLastEvent = async (file: SqlStore, response: number): Promise<number | undefined> =>
  (await findRow<{ last: number }>(file, LAST_EVENT, response))?.last

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

/** From the first response of the chain to this one; one more than `lengthMax` when it is longer. */
export const listChain = (file: SqlStore, response: number, lengthMax: number): Promise<ChainRow[]> =>
  file.all<ChainRow>(CHAIN, [response, lengthMax])

interface SegmentRow extends SealedPart {
  readonly from_sequence: number
  readonly to_sequence: number
}

/** The next segment with frames after this number. */
export const findSegmentAfter = (file: SqlStore, response: number, sequence: number) =>
  findRow<SegmentRow>(file, READ_SEGMENT, response, sequence)

const STATES = `SELECT r.account AS owner, r.id AS id, r.status AS status FROM json_each(?) list
  CROSS JOIN responses r ON r.account = CAST(list.value ->> 0 AS BIGINT) AND r.id = list.value ->> 1`

export const listStates = (file: SqlStore, named: readonly (readonly [owner: OwnerRow, id: string])[]) =>
  file.all<Named & { status: ResponseStatus }>(STATES, [JSON.stringify(named)])

/** A reference of a response to an item. */
export interface LinkRow {
  readonly item: number
  readonly bytes: number
}

const LINKS = `SELECT l.item AS item, i.bytes AS bytes
  FROM json_each(?) list
  CROSS JOIN response_items l ON l.response = CAST(list.value AS BIGINT)
  CROSS JOIN items i ON i.item = l.item
  ORDER BY list.key, l.side, l.position`

export const listLinks = (file: SqlStore, responses: readonly number[]) =>
  file.all<LinkRow>(LINKS, [JSON.stringify(responses)])

const OUTPUT = `SELECT l.item AS item, i.bytes AS bytes, i.raw_bytes AS raw_bytes
  FROM response_items l CROSS JOIN items i ON i.item = l.item
  WHERE l.response = ? AND l.side = 1 ORDER BY l.position`

export const listOutput = (file: SqlStore, response: number) =>
  file.all<LinkRow & { readonly raw_bytes: number }>(OUTPUT, [response])

export const listItems = (file: SqlStore, items: readonly number[]) =>
  file.all<SealedPart & { item: number; digest: string }>(READ_ITEMS, [JSON.stringify(items)])

export interface NamedItemRow extends LinkRow {
  readonly id: string
  readonly raw_bytes: number
}

const NAMED = `SELECT i.id AS id, i.item AS item, i.bytes AS bytes, i.raw_bytes AS raw_bytes
  FROM json_each(?) list
  CROSS JOIN items i ON i.account = ? AND i.id = list.value
  WHERE EXISTS (
    SELECT 1 FROM response_items l CROSS JOIN responses r ON r.response = l.response
    WHERE l.item = i.item AND r.expires_at > ? AND ${OF_PERSON}
  )
  ORDER BY i.item`

/** Items by the digests of their ids, as long as a response that is not expired has them. */
export const listNamed = (
  file: SqlStore,
  { owner, ids, now, person }: Omit<Sought, 'id'> & { readonly ids: readonly string[] },
) => file.all<NamedItemRow>(NAMED, [JSON.stringify(ids), owner, now, person ?? null])

/** The list in slices, each for one query. */
export const slicesOf = <Entry>(list: readonly Entry[], size: number): Entry[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

const THERE = `SELECT i.account AS owner, i.digest AS digest FROM json_each(?) list
  CROSS JOIN items i ON i.account = CAST(list.value ->> 0 AS BIGINT) AND i.digest = list.value ->> 1`

/** Of these items, those that exist. */
export const listThere = (file: SqlStore, named: readonly (readonly [owner: OwnerRow, digest: string])[]) =>
  file.all<{ owner: OwnerRow; digest: string }>(THERE, [JSON.stringify(named)])

/**
 * Responses that may be deleted, in the order of their expiry: those without children, and after each of them the parents
 * whose only child it was. So a chain is deleted from its end, and never loses its middle.
 */
const TO_GO = `WITH RECURSIVE going (response, account, parent, items, expires_at, first, depth) AS (
    SELECT response, account, parent, items, expires_at, expires_at, 0 FROM (
      SELECT response, account, parent, items, expires_at FROM responses
      WHERE children = 0 AND status <> 'in_progress' AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2) AS leaves
    UNION ALL
    SELECT r.response, r.account, r.parent, r.items, r.expires_at, going.first, going.depth + 1
    FROM going CROSS JOIN responses r ON r.response = going.parent
    WHERE r.children = 1 AND r.status <> 'in_progress' AND r.expires_at <= ?1 AND going.depth < ?2
  )
  SELECT response, account, items, expires_at FROM going ORDER BY first, depth LIMIT ?2`

export interface GoingRow {
  readonly response: number
  readonly account: OwnerRow
  /** How many links are deleted with it. */
  readonly items: number
  /** 0: hidden. */
  readonly expires_at: number
}

export const listToGo = (file: SqlStore, until: number, limit: number) => file.all<GoingRow>(TO_GO, [until, limit])

const END = 'DELETE FROM responses WHERE response = ? AND children = 0'

/**
 * Returns how many were deleted: none that has got a child meanwhile. With `leftAt`, the time, contents of expired responses
 * are left for their day (`leaveBodies`); those of hidden ones are deleted at once.
 */
export async function endResponses(
  file: SqlStore,
  going: readonly GoingRow[],
  { leftAt }: { readonly leftAt: number | undefined },
): Promise<number> {
  if (leftAt === undefined) return end(file, going, ended(going))
  const hidden = going.filter(({ expires_at }) => expires_at === 0)
  const expired = going.filter(({ expires_at }) => expires_at > 0)
  return (await end(file, hidden, ended(hidden))) + (await end(file, expired, ended(expired), [leaveBodies(leftAt)]))
}

const ended = (going: readonly GoingRow[]): AtomicStatement => ({
  sql: END,
  rows: going.map(({ response }) => [response]),
})

const LOCK_KEY = 'UPDATE account_keys SET ring_key = ring_key WHERE account = ?'

/** Begins with the keys, in one order, as a write does: two nodes would wait for each other. */
async function end(
  file: SqlStore,
  going: readonly GoingRow[],
  deleted: AtomicStatement,
  before: readonly AtomicStatement[] = [],
): Promise<number> {
  if (going.length === 0) return 0
  const accounts = [...new Set(going.map(({ account }) => account))].sort((a, b) => a - b)
  const lock = { sql: LOCK_KEY, rows: accounts.map((account) => [account]) }
  return (await file.atomic([lock, ...before, deleted])).at(-1)!
}

const STORED_BYTES = 'SELECT COALESCE(SUM(bytes), 0) AS bytes FROM state_size WHERE one > 0'

/** One after the other, while all responses take more than `bytes`. */
export const endWhileMoreThan = (file: SqlStore, going: readonly GoingRow[], bytes: number) =>
  end(file, going, {
    sql: `${END} AND (${STORED_BYTES}) > ?`,
    rows: going.map(({ response }) => [response, bytes]),
  })

export const findStoredBytes = async (file: SqlStore): Promise<number> =>
  (await findRow<{ bytes: number }>(file, STORED_BYTES))!.bytes

/** Hides a response that other ones may continue. */
const NOT_SHOWN = 'UPDATE responses SET expires_at = 0'
/** A running response becomes a failed one: else it would be kept for its end. */
const ENDED_STATUS = "status = CASE status WHEN 'in_progress' THEN 'failed' ELSE status END"

/** Hides a response. The sweep deletes it once it has no children. False when there was none to hide. */
export const hideResponse = async (file: SqlStore, sought: Sought) =>
  (await changeRows(file, `${NOT_SHOWN} WHERE ${IS_SOUGHT}`, soughtBy(sought))) > 0

/** Cancelled, or hidden since its client has deleted it. */
export const isStopped = async (file: SqlStore, { owner, id }: Named): Promise<boolean> => {
  const row = await findRow<{ status: ResponseStatus; expires_at: number }>(
    file,
    'SELECT status, expires_at FROM responses WHERE account = ? AND id = ?',
    ...[owner, id],
  )
  return row === undefined || row.status === 'cancelled' || row.expires_at === 0
}

/** False when it has ended meanwhile. */
export const cancelRunning = async (file: SqlStore, sought: Sought) =>
  (await changeRows(
    file,
    `UPDATE responses SET status = 'cancelled' WHERE ${IS_SOUGHT} AND status = 'in_progress'`,
    soughtBy(sought),
  )) > 0

/** Hides a response, and drops the ending that recovery would charge from. */
export const disownResponse = (file: SqlStore, { owner, id }: Named) =>
  changeRows(file, `${NOT_SHOWN}, ${ENDED_STATUS}, facts = NULL WHERE account = ? AND id = ?`, [owner, id])

const ALL_OF_ACCOUNT = 'SELECT response, id FROM responses WHERE account = ? AND id > ? ORDER BY id LIMIT ?'
const HIDDEN_AT_ONCE = 500

/** Hides all responses of an account, a slice at a time, and fails the running ones. */
export async function hideAll(file: SqlStore, owner: OwnerRow): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await file.all<{ response: number; id: string }>(ALL_OF_ACCOUNT, [owner, after, HIDDEN_AT_ONCE])
    if (rows.length === 0) return
    const hidden = rows.map(({ response }) => [response])
    await changeRows(file, `${NOT_SHOWN}, ${ENDED_STATUS} WHERE response = ?`, ...hidden)
    after = rows.at(-1)!.id
  }
}

const FAIL_ABANDONED = `UPDATE responses SET status = 'failed' WHERE status = 'in_progress' AND created_at < ?
  AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.request_id = responses.request_id
    AND (receipts.state = 'open' OR receipts.closed_at > ?))`

/**
 * On PostgreSQL, which has receipts in the same database: fails responses whose request no node runs any more. A receipt that closed just
 * now counts too: a response that fails or is cancelled is written after its charge.
 */
export const failAbandoned = (file: SqlStore, createdBefore: number) =>
  changeRows(file, FAIL_ABANDONED, [createdBefore, createdBefore])

/**
 * The same for files, where the receipts are beside the contents: a response whose end could not be written, because the disk was full,
 * is still running here.
 */
export async function failAbandonedOfFiles(files: Record<'content' | 'ledger', SqlStore>, createdBefore: number) {
  const { content, ledger } = files
  const sql = `SELECT response, request_id AS request FROM responses WHERE status = 'in_progress' AND created_at < ?`
  const running = await content.all<{ response: number; request: RequestId }>(sql, [createdBefore])
  if (running.length === 0) return
  const ids = JSON.stringify(running.map(({ request }) => request))
  const alive = await ledger.all<{ request: RequestId }>(ALIVE_AMONG, [ids, createdBefore])
  const isAlive = new Set(alive.map(({ request }) => request))
  const abandoned = running.filter(({ request }) => !isAlive.has(request)).map(({ response }) => [response])
  if (abandoned.length > 0)
    await changeRows(
      content,
      "UPDATE responses SET status = 'failed' WHERE response = ? AND status = 'in_progress'",
      ...abandoned,
    )
}

const ALIVE_AMONG = `SELECT request_id AS request FROM receipts
  WHERE request_id IN (SELECT value FROM json_each(?1)) AND (state = 'open' OR closed_at > ?2)`

export const failRunning = (file: SqlStore) =>
  changeRows(file, "UPDATE responses SET status = 'failed' WHERE status = 'in_progress'", [])
