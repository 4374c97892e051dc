import { createTurns } from '../../lib/async.ts'
import { createSharedByteBudget } from '../../lib/bytes.ts'
import { isObject } from '../../lib/types.ts'
import type { ReadScope } from '../../model/caller.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { tryParse } from '../../protocols/json/bytes.ts'
import { retryUnavailable, type SqlStore } from '../sql-store.ts'
import { sealEvents, sealLog } from './event-log.ts'
import type { ContentServices } from './open-content.ts'
import { readResponses } from './read-responses.ts'
import {
  cancelRunning,
  disownResponse,
  failAbandonedOfFiles,
  failRunning,
  hideAll,
  hideResponse,
  listThere,
  slicesOf,
} from './response-rows.ts'
import {
  createResponseStore,
  endExpired,
  makeRoom,
  type ResponseServices,
  type ResponseWrite,
  type SealedItem,
} from './response-store.ts'
import {
  type AccountKey,
  createAccountKeys,
  destroyKey,
  digestId,
  digestItems,
  findOwner,
  itemName,
  type OwnerRow,
  objectName,
  type SealingKey,
  sealInSlices,
  sealPart,
} from './sealing.ts'
import { inTime } from './write-queue.ts'

/** A running response. `object` is its JSON; its `output` may be empty, because readers put the items in. */
export interface StartedResponse {
  readonly id: string
  readonly account: AccountId
  /** The person of the key that it was requested with. */
  readonly person?: number | undefined
  readonly requestId: RequestId
  readonly createdAt: number
  readonly expiresAt: number
  /** The id of the response that it continues. */
  readonly parent: string | undefined
  readonly object: Buffer
}

/** An ended response, with its own items only, not those of the responses before it. */
export interface EndedResponse extends StartedResponse {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly input: readonly Buffer[]
  readonly output: readonly Buffer[]
  /** The bytes of its stream. */
  readonly events?: Buffer
  /** A repeated request gets its log as the stream (`isLogAsSent`). */
  readonly isAsSent?: boolean
  /** Events were stored while it ran. */
  readonly hasEvents?: boolean
  /** Its ending, from which recovery charges; undefined where recovery must not. */
  readonly facts: string | undefined
}

/** A response with more items is not stored: looking all of them up would block others. */
export const RESPONSE_ITEMS_MAX = 5000

/** Responses that their account can read and continue by their ids. */
export type StoredResponses = ReturnType<typeof createStoredResponses>

interface StoredResponsesOptions extends ContentServices, Pick<ResponseServices, 'bytesMax' | 'isShared'> {
  /** The first key wraps the keys of accounts; the others only unwrap. */
  readonly sealingKeys: readonly [SealingKey, ...SealingKey[]]
  readonly eraseDeleted?: (() => Promise<void>) | undefined
}

export function createStoredResponses(options: StoredResponsesOptions) {
  const { bytesMax } = options
  const keeps = bytesMax > 0
  const services: ResponseServices = {
    ...options,
    keeps,
    keys: createAccountKeys(options),
    store: createResponseStore(options),
  }
  const read = readResponses(services)
  return {
    /** False when the operator has disabled storage. */
    keeps,
    ...writeResponses(services),
    ...read,
    ...deleteResponses({ ...services, read }),
  }
}

function deleteResponses({
  file,
  keys,
  store,
  ...services
}: ResponseServices & { readonly read: Pick<ReturnType<typeof readResponses>, 'find'> }) {
  /** The digest of a response id; undefined when the account has no readable key. */
  const nameOf = async (account: AccountId, id: string): Promise<{ owner: OwnerRow; id: string } | undefined> => {
    const found = await keys.find(account)
    return found.kind === 'found' ? { owner: found.key.owner, id: digestId(found.key, 'response', id) } : undefined
  }
  /** Deletes expired responses, a few at a time. Returns how many. */
  const sweep = async (): Promise<number> => {
    await store.inTurn(() => makeRoom(file, 0, services.bytesMax))
    for (let ended = 0; ; ) {
      const some = await store.inTurn(() => endExpired({ file, ...services }))
      ended += some
      if (some === 0) return ended
    }
  }

  return {
    /** Undoes the storage. Never rejects. */
    async forget(id: string, account: AccountId): Promise<void> {
      const work = async () => {
        const name = await nameOf(account, id)
        if (name !== undefined) await disownResponse(file, name)
      }
      await store.inTurn(work).catch(services.onFailure)
    },
    /** Deletes a response for its account; responses that continue it stay. False when there is none. */
    remove: ({ account, person }: ReadScope, id: string): Promise<boolean> =>
      store.inTurn(async () => {
        const name = services.keeps ? await nameOf(account, id) : undefined
        return name !== undefined && hideResponse(file, { ...name, person, now: services.now() })
      }),
    /**
     * Cancels a response that runs in the background; one that has ended stays as it is. What the client gets of it is told by `find`.
     */
    async cancel(scope: ReadScope, id: string): Promise<'cancelled' | 'ended' | 'not-cancellable' | 'not-found'> {
      const found = await services.read.find(scope, id)
      if (found === undefined) return 'not-found'
      const value = tryParse(found.body.toString('utf8'))
      if (!isObject(value) || value.background !== true) return 'not-cancellable'
      if (found.status !== 'in_progress') return 'ended'
      return store.inTurn(async () => {
        const name = await nameOf(scope.account, id)
        if (name === undefined) return 'not-found'
        const sought = { ...name, person: scope.person, now: services.now() }
        return (await cancelRunning(file, sought)) ? 'cancelled' : 'ended'
      })
    },
    /** Called at start: fails what a dead process left running. Returns how many. */
    recover: () => store.inTurn(() => failRunning(file)),
    /** For files. In turn with the ends that are written, which must not find a row changed that they have looked at. */
    failAbandoned: (ledger: SqlStore, createdBefore: number) =>
      store.inTurn(() => failAbandonedOfFiles({ content: file, ledger }, createdBefore)),
    sweep,
    /** For a closed account: destroys its key at once, and stores nothing for it any more. */
    async forgetAccount(account: AccountId): Promise<void> {
      store.closeAccount(account)
      await store.inTurn(async () => {
        keys.drop(account)
        const owner = await findOwner(file, account)
        if (owner === undefined) return
        await destroyKey(file, owner)
        await hideAll(file, owner)
      })
      await sweep()
      await services.eraseDeleted?.()
    },
  }
}

/** All responses that wait to be written; more of them on a slow disk would fill the memory. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024
/** A response with more of either takes milliseconds of its own to digest, seal and write. */
const LARGE_ITEMS = 250
const LARGE_BYTES = 1024 * 1024
/** Items may be deleted between the lookup and the write, but hardly twice in a row. */
const ATTEMPTS_MAX = 3

/** Seals and digests responses here; the store writes them. */
function writeResponses(services: ResponseServices) {
  const { file, keys, store } = services
  const waiting = createSharedByteBudget<AccountId>(WAITING_BYTES_MAX)
  /** The large ones of an account one after the other: many at once would hold up those of all others. */
  const inTurn = createTurns<AccountId>()

  const write = async (
    account: AccountId,
    prepare: (key: AccountKey) => Promise<ResponseWrite>,
    isRepeated: boolean,
  ): Promise<boolean> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      // A destroyed key is not replaced.
      if (store.isClosed(account)) return false
      const key = await keys.findOrMake(account)
      if (key === undefined) throw new Error(`The key of account ${account} cannot be read with this key ring`)
      const outcome = await store.add({ ...(await prepare(key)), isRepeated })
      if (outcome !== 'stale') return outcome !== 'refused'
      keys.drop(account)
    }
    throw new Error('What a response refers to was deleted each time before it could be written')
  }
  const keep = async (
    account: AccountId,
    bytes: number,
    prepare: (key: AccountKey) => Promise<ResponseWrite>,
    isLarge = false,
  ): Promise<boolean> => {
    if (!services.keeps) return false
    let isGivenUp = false
    try {
      const own = waiting.of(account)
      if (!own.take(bytes)) throw new Error('Too many responses wait to be written')
      let attempts = 0
      const attempt = async () => !isGivenUp && (await write(account, prepare, attempts++ > 0))
      const done = retryUnavailable(() => (isLarge ? inTurn(account, attempt) : attempt())).finally(() =>
        own.give(bytes),
      )
      return await inTime(done, 'A response')
    } catch (error) {
      // The client has been told that it is not stored.
      isGivenUp = true
      services.onFailure(error)
      return false
    }
  }

  return {
    /** Writes the row of a running response. True when it is durable. Never rejects. */
    begin: (response: StartedResponse): Promise<boolean> =>
      keep(response.account, response.object.length, (key) =>
        prepareEmpty(key, { ...response, status: 'in_progress' }, freshOf(key, response)),
      ),
    /** Writes the final state with its items; for a JSON answer also the row. False on failure. Never rejects. */
    async finish(response: EndedResponse): Promise<boolean> {
      // Apart, so that no answer is too long because of its request.
      if (response.input.length > RESPONSE_ITEMS_MAX || response.output.length > RESPONSE_ITEMS_MAX) return false
      const { account, object, input, output, events } = response
      const bytes = lengthOf([object, ...input, ...output]) + (events?.length ?? 0)
      const isLarge = input.length + output.length > LARGE_ITEMS || bytes > LARGE_BYTES
      return keep(account, bytes, (key) => prepareFinish(file, key, response), isLarge)
    },
    /**
     * Stores whole frames of a running response, for readers of its stream and for after a crash. False when it has ended, or when it is not
     * known whether they were stored: then no more of them may follow. Never rejects.
     */
    addEvents: ({ id, account }: Pick<StartedResponse, 'id' | 'account'>, events: Buffer): Promise<boolean> =>
      keep(account, events.length, async (key) => {
        const name = digestId(key, 'response', id)
        const segments = await sealEvents(key, name, events)
        return { ...NOTHING, key, id: name, fresh: undefined, status: 'in_progress', object: undefined, segments }
      }),
    /** A begun response has ended without an answer. Never rejects. */
    async end(id: string, account: AccountId, status: 'failed' | 'cancelled', object: Buffer): Promise<void> {
      await keep(account, object.length, (key) => prepareEmpty(key, { id, status, object }))
    },
  }
}

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0)

/** Items looked up in one query. */
const ITEMS_AT_ONCE = 500

const NOTHING = {
  facts: null,
  log: 'none',
  isAsSent: false,
  input: [],
  output: [],
  itemBytes: 0,
  items: [],
  segments: [],
  replacesEvents: false,
} as const

const freshOf = (key: AccountKey, { requestId, createdAt, expiresAt, parent, person }: StartedResponse) => ({
  ...{ requestId, createdAt, expiresAt, person },
  parent: parent === undefined ? undefined : digestId(key, 'response', parent),
})

/** A response without items. */
async function prepareEmpty(
  key: AccountKey,
  { id: named, status, object }: Pick<StartedResponse, 'id' | 'object'> & Pick<ResponseWrite, 'status'>,
  fresh?: ResponseWrite['fresh'],
): Promise<ResponseWrite> {
  const id = digestId(key, 'response', named)
  return { ...NOTHING, key, id, fresh, status, object: await sealPart(key, objectName(id), object) }
}

/** Digests all items, and seals those that are not stored yet. */
async function prepareFinish(file: SqlStore, key: AccountKey, response: EndedResponse): Promise<ResponseWrite> {
  const id = digestId(key, 'response', response.id)
  const input = await digestItems(key, response.input)
  const output = await prepareOutput(key, response.output)
  const byDigest = new Map<string, { bytes: Buffer; id: string | null }>()
  for (const [at, digest] of input.entries()) byDigest.set(digest, { bytes: response.input[at]!, id: null })
  for (const [at, item] of output.entries()) byDigest.set(item.digest, { bytes: response.output[at]!, id: item.id })
  const known = await findKnown(file, key, [...byDigest.keys()])
  const fresh = [...byDigest].filter(([digest]) => !known.has(digest))
  const items = await sealInSlices(fresh, async ([digest, item]): Promise<SealedItem> => {
    return { ...(await sealPart(key, itemName(digest), item.bytes)), digest, id: item.id }
  })
  const object = await sealPart(key, objectName(id), response.object)
  const log = await sealLog(key, id, response.events)
  return {
    ...{ key, id, status: response.status, object, input, output, items, ...log },
    fresh: freshOf(key, response),
    facts: response.facts ?? null,
    itemBytes: lengthOf([...response.input, ...response.output]),
    isAsSent: response.isAsSent === true && log.log === 'kept',
    replacesEvents: response.hasEvents === true,
  }
}

async function prepareOutput(key: AccountKey, items: readonly Buffer[]) {
  const digests = await digestItems(key, items)
  return sealInSlices([...digests.entries()], async ([at, digest]) => {
    const item = tryParse(items[at]!.toString('utf8'))
    const id = isObject(item) && typeof item.id === 'string' ? digestId(key, 'item', item.id) : null
    return { digest, id }
  })
}

async function findKnown(file: SqlStore, { owner }: AccountKey, digests: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>()
  for (const some of slicesOf(digests, ITEMS_AT_ONCE)) {
    const named = some.map((digest) => [owner, digest] as const)
    for (const { digest } of await listThere(file, named)) known.add(digest)
  }
  return known
}
