import type { AccountId, RequestId } from '../../model/ids.ts'
import { type AtomicStatement, isChangedMeanwhile, type SqlStore, type SqlValue } from '../sql-store.ts'
import { ADD_ITEM, ADD_SEGMENT, makeDays, SET_OBJECT } from './bodies.ts'
import type { ContentServices } from './open-content.ts'
import {
  endResponses,
  endWhileMoreThan,
  findStoredBytes,
  type GoingRow,
  listStates,
  listThere,
  listToGo,
  type ResponseStatus,
} from './response-rows.ts'
import { type AccountKey, type AccountKeys, listKeyNames, type OwnerRow, type SealedPart } from './sealing.ts'
import { createWriteQueue } from './write-queue.ts'

type WriteOutcome =
  | 'written'
  /** A former attempt has written it. */
  | 'there'
  /** An item or the key was deleted since the lookup: the write has to be prepared again. */
  | 'stale'
  /** The response has ended already, its parent was deleted, or there is no room. */
  | 'refused'

/** What writing, reading and deleting of stored responses share. */
export interface ResponseServices extends ContentServices {
  readonly keys: AccountKeys
  readonly store: ResponseStore
  /** False: nothing is stored, and what was stored before is not shown. */
  readonly keeps: boolean
  /** The bytes on disk of all responses. */
  readonly bytesMax: number
  /** Whether other nodes write and delete too. */
  readonly isShared?: boolean
  /** Removes what was deleted from the disk, as far as the database can. */
  readonly eraseDeleted?: (() => Promise<void>) | undefined
}

type ResponseStore = ReturnType<typeof createResponseStore>

/** Writes stored responses, one group at a time, and makes room for them. */
export function createResponseStore({
  file,
  bytesMax,
  isShared,
}: Pick<ResponseServices, 'file' | 'bytesMax' | 'isShared'>) {
  const closed = new Set<AccountId>()
  const queue = createWriteQueue<ResponseWrite, WriteOutcome>({
    bytesOf: bytesOfWrite,
    bytesMax,
    async write(group, bytes) {
      if (!(await makeRoom(file, bytes, bytesMax))) return group.map(() => 'refused')
      // Nothing is deleted here until the group is written; another node may delete.
      const judge = createJudge(await findReferences(file, group), closed)
      const outcomes = group.map((write) => judge(write))
      const written = group.filter((_, at) => outcomes[at]?.outcome === 'written')
      const fresh = new Set(group.filter((_, at) => outcomes[at]?.isFirst))
      if (written.length === 0) return outcomes.map(({ outcome }) => outcome)
      try {
        await file.atomic([...(isShared ? keepFromOthers(written) : []), ...statementsOf(written, fresh)])
      } catch (error) {
        if (!isShared || !isChangedMeanwhile(error)) throw error
        return outcomes.map(({ outcome }) => (outcome === 'written' ? 'stale' : outcome))
      }
      return outcomes.map(({ outcome }) => outcome)
    },
  })
  return {
    add: async (write: ResponseWrite) => (bytesOfWrite(write) > bytesMax ? 'refused' : queue.add(write)),
    /** Runs between two groups, for deletions. */
    inTurn: queue.inTurn,
    /** From here on nothing of this account is written. */
    closeAccount: (account: AccountId) => void closed.add(account),
    isClosed: (account: AccountId) => closed.has(account),
  }
}

/** Decides on writes in their order: each one sees those before it. `isFirst`: the response is not in the file yet. */
function createJudge(
  there: Awaited<ReturnType<typeof findReferences>>,
  closed: ReadonlySet<AccountId>,
): (write: ResponseWrite) => { readonly outcome: WriteOutcome; readonly isFirst: boolean } {
  const states = new Map(there.states)
  const no = (outcome: 'stale' | 'refused') => ({ outcome, isFirst: false })
  return (write) => {
    const { account, owner, name } = write.key
    if (closed.has(account)) return no('refused')
    const isThere = (digest: string) => there.items.has(nameOf(owner, digest))
    if (!there.keys.has(nameOf(owner, name)) || !itemsByReference(write).every(isThere)) return no('stale')
    const own = nameOf(owner, write.id)
    const state = states.get(own)
    const parent = write.fresh?.parent
    if (state === undefined && parent !== undefined && !states.has(nameOf(owner, parent))) return no('refused')
    // Of events that may be there already nothing is known: they are added with the end of the response.
    if (write.isRepeated === true && write.object === undefined) return no('refused')
    if (write.isRepeated === true && state === write.status) return { outcome: 'there', isFirst: false }
    if (state === undefined ? write.fresh === undefined : state !== 'in_progress') return no('refused')
    states.set(own, write.status)
    return { outcome: 'written', isFirst: state === undefined }
  }
}

const nameOf = (owner: OwnerRow, name: string): string => `${owner} ${name}`

/** Items that the write refers to and does not contain. */
function itemsByReference({ items, input, output }: ResponseWrite): string[] {
  const contained = new Set(items.map(({ digest }) => digest))
  return [...new Set([...input, ...output.map(({ digest }) => digest)])].filter((digest) => !contained.has(digest))
}

/** What the writes of a group refer to, as far as it exists. */
async function findReferences(file: SqlStore, group: readonly ResponseWrite[]) {
  const responses = group.flatMap(({ key, id, fresh }) =>
    (fresh?.parent === undefined ? [id] : [id, fresh.parent]).map((name) => [key.owner, name] as const),
  )
  const counted = group.flatMap((write) => itemsByReference(write).map((digest) => [write.key.owner, digest] as const))
  const [states, keys, items] = await Promise.all([
    listStates(file, responses),
    listKeyNames(file, [...new Set(group.map(({ key }) => key.owner))]),
    counted.length === 0 ? [] : listThere(file, counted),
  ])
  return {
    /** Of the written responses and their parents. */
    states: new Map(states.map(({ owner, id, status }) => [nameOf(owner, id), status])),
    keys: new Set(keys.map(({ owner, name }) => nameOf(owner, name))),
    items: new Set(items.map(({ owner, digest }) => nameOf(owner, digest))),
  }
}

/** Estimated bytes of a row beside its sealed content: keys, indexes, pages. */
const RESPONSE_ROW_BYTES = 320
const ITEM_ROW_BYTES = 192
const LINK_ROW_BYTES = 24
const SEGMENT_ROW_BYTES = 96

/** One change of one response, sealed. */
export interface ResponseWrite {
  readonly key: AccountKey
  /** The digest of its id. */
  readonly id: string
  /** The database did not answer a former attempt, which it may have done. */
  readonly isRepeated?: boolean
  /** For a response that is not in the file yet; undefined where the change must not create one. */
  readonly fresh:
    | {
        readonly requestId: RequestId
        readonly createdAt: number
        readonly expiresAt: number
        readonly parent: string | undefined
        readonly person: number | undefined
      }
    | undefined
  readonly status: ResponseStatus
  /** Undefined for a running response of which only events are added. */
  readonly object: SealedPart | undefined
  readonly facts: string | null
  readonly log: 'none' | 'kept' | 'too-large'
  readonly isAsSent: boolean
  readonly input: readonly string[]
  /** `id` is the digest of its id. */
  readonly output: readonly { readonly digest: string; readonly id: string | null }[]
  readonly itemBytes: number
  /** Items that were not stored at the lookup. */
  readonly items: readonly SealedItem[]
  readonly segments: readonly SealedSegment[]
  /** They replace the events that were stored while it ran. */
  readonly replacesEvents: boolean
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
  object === undefined ? 0 : RESPONSE_ROW_BYTES + object.sealed.length + LINK_ROW_BYTES * (input.length + output.length)
const itemBytes = ({ sealed }: SealedItem): number => ITEM_ROW_BYTES + sealed.length
const segmentBytes = ({ sealed }: SealedSegment): number => SEGMENT_ROW_BYTES + sealed.length

const bytesOfWrite = (write: ResponseWrite): number =>
  ownBytes(write) +
  write.items.reduce((sum, item) => sum + itemBytes(item), 0) +
  write.segments.reduce((sum, segment) => sum + segmentBytes(segment), 0)

const RESPONSE = '(SELECT response FROM responses WHERE account = ?1 AND id = ?2)'

const INSERT = `INSERT INTO responses
  (account, id, request_id, created_at, expires_at, status, parent, items, item_bytes, log, bytes, facts, as_sent, person)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, (SELECT response FROM responses WHERE account = ?1 AND id = ?7), ?8, ?9, ?10, ?11, ?12, ?13,
    CAST(?14 AS BIGINT)
  WHERE ?7 IS NULL OR EXISTS (SELECT 1 FROM responses WHERE account = ?1 AND id = ?7)`
const UPDATE = `UPDATE responses SET status = ?3, items = ?4, item_bytes = ?5, log = ?6, bytes = ?7, facts = ?8, as_sent = ?9
  WHERE account = ?1 AND id = ?2 AND status = 'in_progress'`
/** A client may have sent an item of an answer back before the answer was stored. */
const NAME_ITEM = 'UPDATE items SET id = ?3 WHERE account = ?1 AND digest = ?2 AND id IS NULL'
/** The table refuses a link to an item that does not exist. */
const REPLACE_EVENTS = `DELETE FROM events WHERE response = ${RESPONSE}`
const LINK = `INSERT INTO response_items (response, side, position, item)
  SELECT ${RESPONSE}, ?3, list.key, (SELECT item FROM items WHERE account = ?1 AND digest = list.value)
  FROM json_each(?4) list`

const KEEP_KEY = 'UPDATE account_keys SET ring_key = ring_key WHERE account = ? AND name = ?'

/** From here to the commit no other node deletes these keys. In one order, so that two nodes do not wait for each other. */
function keepFromOthers(writes: readonly ResponseWrite[]): AtomicStatement[] {
  const names = new Map(writes.map(({ key }) => [key.owner, key.name]))
  const expiries = new Set(writes.flatMap(({ fresh }) => fresh?.expiresAt ?? []))
  return [makeDays([...expiries]), { sql: KEEP_KEY, rows: [...names].sort(([a], [b]) => a - b), expectChanges: 1 }]
}

/** A group of changes as one transaction. */
function statementsOf(writes: readonly ResponseWrite[], fresh: ReadonlySet<ResponseWrite>): AtomicStatement[] {
  const each = (rowsOf: (write: ResponseWrite) => SqlValue[][]): SqlValue[][] => writes.flatMap(rowsOf)
  // The end of a response has all of its events. Those that were added just before it would be there twice.
  const whole = new Set(writes.filter(({ replacesEvents }) => replacesEvents).map(ownName))
  const known = writes.filter((write) => !fresh.has(write) && write.object !== undefined)
  const statements: AtomicStatement[] = [
    { sql: INSERT, rows: writes.filter((write) => fresh.has(write)).map(insertRow), expectChanges: 1 },
    { sql: UPDATE, rows: known.map(updateRow), expectChanges: 1 },
    { sql: SET_OBJECT, rows: each(objectRows), expectChanges: 1 },
    { sql: REPLACE_EVENTS, rows: writes.filter(({ replacesEvents }) => replacesEvents).map(whose) },
    { sql: ADD_ITEM, rows: each(itemRows) },
    { sql: NAME_ITEM, rows: each(namedRows) },
    { sql: LINK, rows: each(linkRows) },
    {
      sql: ADD_SEGMENT,
      rows: writes.flatMap((write) =>
        write.object === undefined && whole.has(ownName(write)) ? [] : segmentRows(write),
      ),
      expectChanges: 1,
    },
  ]
  return statements.filter(({ rows }) => rows.length > 0)
}

const ownName = ({ key, id }: ResponseWrite): string => nameOf(key.owner, id)
const whose = ({ key, id }: ResponseWrite): SqlValue[] => [key.owner, id]
const partRow = ({ encoding, raw_bytes, sealed }: SealedPart): SqlValue[] => [encoding, raw_bytes, sealed]
const stateRow = (write: ResponseWrite): SqlValue[] => [
  ...[write.input.length + write.output.length, write.itemBytes],
  ...[write.log, ownBytes(write), write.facts, Number(write.isAsSent)],
]

function insertRow(write: ResponseWrite): SqlValue[] {
  const { fresh, status } = write
  if (fresh === undefined) throw new Error('A change without creation facts cannot create a response')
  const { requestId, createdAt, expiresAt, parent = null, person = null } = fresh
  return [...whose(write), requestId, createdAt, expiresAt, status, parent, ...stateRow(write), person]
}

const objectRows = (write: ResponseWrite): SqlValue[][] =>
  write.object === undefined ? [] : [[...whose(write), ...partRow(write.object)]]

const updateRow = (write: ResponseWrite): SqlValue[] => [...whose(write), write.status, ...stateRow(write)]

const itemRows = (write: ResponseWrite): SqlValue[][] =>
  write.items.map((item) => {
    const { encoding, raw_bytes, sealed } = item
    return [...whose(write), item.digest, item.id, encoding, raw_bytes, itemBytes(item), sealed]
  })

const namedRows = ({ key, output }: ResponseWrite): SqlValue[][] =>
  output.flatMap(({ digest, id }) => (id === null ? [] : [[key.owner, digest, id]]))

function linkRows(write: ResponseWrite): SqlValue[][] {
  const sides = [write.input, write.output.map(({ digest }) => digest)]
  return sides.flatMap((digests, side) =>
    digests.length === 0 ? [] : [[...whose(write), side, JSON.stringify(digests)]],
  )
}

const segmentRows = (write: ResponseWrite): SqlValue[][] =>
  write.segments.map((segment) => {
    const { from, to, encoding, raw_bytes, sealed } = segment
    return [...whose(write), from, to, encoding, raw_bytes, segmentBytes(segment), sealed]
  })

/** Deleted at a time, so that writes and reads wait for a few only. */
const ENDED_AT_ONCE = 50
const LINKS_AT_ONCE = 5000
const EVER = Number.MAX_SAFE_INTEGER

/** False when there is not enough room even without everything that may be deleted. */
export async function makeRoom(file: SqlStore, bytes: number, bytesMax: number): Promise<boolean> {
  for (;;) {
    if ((await findStoredBytes(file)) + bytes <= bytesMax) return true
    const going = await listFewToGo(file, EVER)
    if (going.length === 0 || (await endWhileMoreThan(file, going, bytesMax - bytes)) === 0) return false
  }
}

/** Deletes a few expired responses. Returns how many. */
export async function endExpired({ file, isShared, now }: Pick<ResponseServices, 'file' | 'isShared' | 'now'>) {
  const at = now()
  const going = await listFewToGo(file, at)
  return endResponses(file, going, { leftAt: isShared ? at : undefined })
}

async function listFewToGo(file: SqlStore, until: number): Promise<GoingRow[]> {
  let links = 0
  return (await listToGo(file, until, ENDED_AT_ONCE)).filter(({ items }, at) => {
    links += items
    return at === 0 || links <= LINKS_AT_ONCE
  })
}
