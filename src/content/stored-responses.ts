import { createByteBudget } from '../lib/byte-budget.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { type AccountKey, createAccountKeys } from './account-keys.ts'
import { inTime } from './in-time.ts'
import { digestId } from './keyed-digests.ts'
import { prepareBegin, prepareEnd, prepareFinish } from './prepare-write.ts'
import { readContext, readEvents, readItems, readResponse } from './read-responses.ts'
import { disown, endExpired, hide, hideAll, makeRoom } from './response-room.ts'
import { findFacts, type ResponseStatus } from './response-rows.ts'
import { createResponseShelf } from './response-shelf.ts'
import type { ResponseWrite } from './response-write.ts'
import type { SealingKey } from './seal-body.ts'

/** A response that runs. `object` is its JSON; its `output` may be empty, because the items are put in its place. */
export interface StartedResponse {
  readonly id: string
  readonly account: AccountRow
  readonly requestId: RequestId
  readonly createdAt: number
  readonly expiresAt: number
  /** The id of the response that it goes on from. */
  readonly parent: string | undefined
  readonly object: Buffer
}

/** One that has ended, with the items that are its own: not those of the responses before it. */
export interface EndedResponse extends StartedResponse {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly input: readonly Buffer[]
  readonly output: readonly Buffer[]
  /** What was sent of a streamed one. */
  readonly events?: Buffer
  /** What recovery has to know to charge for it, in the words of whoever charges; nothing where it shall not. */
  readonly facts: string | undefined
}

export interface FoundResponse {
  readonly status: ResponseStatus
  /** The JSON of the response, its output put in. */
  readonly body: Buffer
}

export type FoundContext =
  | { readonly kind: 'found'; readonly items: readonly Buffer[] }
  | { readonly kind: 'not-found' }
  /** It still runs, or has ended without an answer to go on from. */
  | { readonly kind: 'not-finished'; readonly status: ResponseStatus }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'damaged' }

export type FoundItems =
  | { readonly kind: 'found'; readonly items: ReadonlyMap<string, Buffer> }
  | { readonly kind: 'too-large' }

export type FoundEvents =
  /** Whole frames, in pieces; throws when they cannot be read to their end. */
  | { readonly kind: 'found'; readonly frames: AsyncIterable<Buffer> }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'not-finished' }
  | { readonly kind: 'no-log'; readonly reason: 'too-large' | 'not-kept' }

/** Responses that may be asked for, and gone on from, by their ids; each by its own account only. */
export interface StoredResponses {
  /** False where the operator lets nothing be stored. */
  readonly keeps: boolean
  /** The row of a stream, in_progress; resolves true when it is durable. Never rejects. */
  begin(response: StartedResponse): Promise<boolean>
  /** The final state, with its items; of a JSON answer the first write too. Never rejects; false when it could not be kept. */
  finish(response: EndedResponse): Promise<boolean>
  /** One that began has ended without an answer. Never rejects. */
  end(id: string, account: AccountRow, status: 'failed' | 'cancelled', object: Buffer): Promise<void>
  /** As if it had never been stored. Never rejects. */
  forget(id: string, account: AccountRow): Promise<void>
  find(account: AccountRow, id: string): Promise<FoundResponse | undefined>
  /** All items of the chain, in order; too-large when they are more than `bytesMax` together. */
  context(account: AccountRow, id: string, bytesMax: number): Promise<FoundContext>
  /** Items of answers, by their ids; those that are not there are left out. */
  items(account: AccountRow, ids: readonly string[], bytesMax: number): Promise<FoundItems>
  events(account: AccountRow, id: string, startingAfter: number): Promise<FoundEvents>
  /** At the wish of its account. What was built on it goes on. False when there was none to be seen. */
  remove(account: AccountRow, id: string): Promise<boolean>
  /** At start: what a dead process left running has failed. Returns how many. */
  recover(): Promise<number>
  /** The facts of those of these requests whose responses are stored. Never rejects. */
  factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, string>>
  /** Ends what has expired, a few at a time. Returns how many. */
  sweep(): Promise<number>
  /** The account was closed: the key of everything of it is destroyed at once, and nothing is stored for it any more. */
  forgetAccount(account: AccountRow): Promise<void>
}

export interface StoredResponsesDeps {
  readonly file: SqliteFile
  /** The first one wraps the keys of accounts; the others only open what they wrapped. */
  readonly ring: readonly [SealingKey, ...SealingKey[]]
  readonly now: () => number
  /** Of all that is stored, as it lies on the disk. 0: nothing is stored. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** A response of more items is not stored: looking for them all would hold the others up. */
export const RESPONSE_ITEMS_MAX = 5000
/** Of responses that wait to be written, all together: beyond, a disk that is too slow would fill the memory. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024
/** What it counted on may go between the look and the write; twice in a row it does not. */
const ATTEMPTS_MAX = 3

export function createStoredResponses(deps: StoredResponsesDeps): StoredResponses {
  const { file, bytesMax, now, onFailure } = deps
  const keys = createAccountKeys(deps)
  const closed = new Set<AccountRow>()
  const waiting = createByteBudget(WAITING_BYTES_MAX)
  const shelf = createResponseShelf({ file, bytesMax, isClosed: (account) => closed.has(account) })
  const keeps = bytesMax > 0
  const reader = { file, keys, now, keeps }

  const write = async (account: AccountRow, prepare: (key: AccountKey) => Promise<ResponseWrite>): Promise<boolean> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      if (closed.has(account)) return false
      const key = await keys.findOrMake(account)
      if (key === undefined) throw new Error(`The key of account ${account} cannot be read with this key ring`)
      const outcome = await shelf.add(await prepare(key))
      if (outcome !== 'stale') return outcome === 'written'
      keys.drop(account)
    }
    throw new Error('What a response refers to went each time that it was to be written')
  }
  const keep = async (bytes: number, work: () => Promise<boolean>): Promise<boolean> => {
    if (!keeps) return false
    try {
      if (!waiting.take(bytes)) throw new Error('Too many responses wait to be written')
      const done = work().finally(() => waiting.give(bytes))
      return await inTime(done, 'A response')
    } catch (error) {
      onFailure(error)
      return false
    }
  }
  /** The digest that it is known by; undefined where nothing of the account can be known. */
  const nameOf = async (account: AccountRow, id: string): Promise<string | undefined> => {
    const found = await keys.find(account)
    return found.kind === 'found' ? digestId(found.key, 'response', id) : undefined
  }
  const sweep = async (): Promise<number> => {
    await shelf.inTurn(() => makeRoom(file, 0, bytesMax))
    for (let ended = 0; ; ) {
      const some = await shelf.inTurn(() => endExpired(file, now()))
      ended += some
      if (some === 0) return ended
    }
  }

  return {
    keeps,
    begin: (response) =>
      keep(response.object.length, () => write(response.account, (key) => prepareBegin(key, response))),
    async finish(response) {
      if (response.input.length + response.output.length > RESPONSE_ITEMS_MAX) return false
      return keep(bytesOf(response), () => write(response.account, (key) => prepareFinish(file, key, response)))
    },
    async end(id, account, status, object) {
      await keep(object.length, () => write(account, (key) => prepareEnd(key, { id, status, object })))
    },
    async forget(id, account) {
      const work = async () => {
        const name = await nameOf(account, id)
        if (name !== undefined) await disown(file, { account, id: name })
      }
      await shelf.inTurn(work).catch(onFailure)
    },
    async find(account, id) {
      const found = await readResponse(reader, account, id)
      if (found !== 'damaged') return found
      onFailure(new Error(`A stored response of account ${account} cannot be read`))
      return undefined
    },
    async context(account, id, contextBytesMax) {
      const found = await readContext(reader, account, id, contextBytesMax)
      if (found.kind === 'damaged') onFailure(new Error(`A stored response of account ${account} cannot be read`))
      return found
    },
    items: (account, ids, itemBytesMax) => readItems(reader, account, ids, itemBytesMax),
    events: (account, id, startingAfter) => readEvents(reader, account, id, startingAfter),
    remove: (account, id) =>
      shelf.inTurn(async () => {
        const name = keeps ? await nameOf(account, id) : undefined
        return name !== undefined && hide(file, { account, id: name, now: now() })
      }),
    recover: () =>
      shelf.inTurn(async () => {
        const sql = "UPDATE responses SET status = 'failed' WHERE status = 'in_progress'"
        const [failed = 0] = await file.atomic([{ sql, rows: [[]] }])
        return failed
      }),
    async factsOf(requests) {
      const found = new Map<RequestId, string>()
      for (const requestId of requests) {
        // The holds of all others must not wait for one that cannot be read.
        const facts = await findFacts(file, requestId).catch(onFailure)
        if (typeof facts === 'string') found.set(requestId, facts)
      }
      return found
    },
    sweep,
    async forgetAccount(account) {
      closed.add(account)
      await shelf.inTurn(async () => {
        keys.drop(account)
        await file.atomic([{ sql: 'DELETE FROM account_keys WHERE account = ?', rows: [[account]] }])
        await hideAll(file, account)
      })
      await sweep()
      // The key is overwritten in its page; here the page's older versions go too.
      await file.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
    },
  }
}

const bytesOf = ({ object, input, output, events }: EndedResponse): number =>
  [object, ...input, ...output].reduce((sum, { length }) => sum + length, events?.length ?? 0)
