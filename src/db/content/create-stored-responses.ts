import { createByteBudget } from '../../lib/bytes.ts'
import { isObject } from '../../lib/types.ts'
import type { AccountId } from '../../model/ids.ts'
import { tryParse } from '../../protocols/json/bytes.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { sealLog } from './event-log.ts'
import { readResponses } from './read-responses.ts'
import { disownResponse, failRunning, hideAll, hideResponse, listThere } from './response-rows.ts'
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
import {
  type EndedResponse,
  RESPONSE_ITEMS_MAX,
  type StartedResponse,
  type StoredResponses,
} from './stored-responses.ts'
import { inTime } from './write-queue.ts'

interface StoredResponsesOptions extends Pick<ResponseServices, 'file' | 'now' | 'bytesMax' | 'onFailure'> {
  /** The first key wraps the keys of accounts; the others only unwrap. */
  readonly sealingKeys: readonly [SealingKey, ...SealingKey[]]
}

export function createStoredResponses(options: StoredResponsesOptions): StoredResponses {
  const { file, bytesMax } = options
  const keeps = bytesMax > 0
  const services: ResponseServices = {
    ...options,
    keeps,
    keys: createAccountKeys(options),
    store: createResponseStore(file, bytesMax),
  }
  return { keeps, ...writeResponses(services), ...readResponses(services), ...deleteResponses(services) }
}

function deleteResponses({
  file,
  keys,
  store,
  ...services
}: ResponseServices): Pick<StoredResponses, 'forget' | 'remove' | 'recover' | 'sweep' | 'forgetAccount'> {
  /** The digest of a response id; undefined when the account has no readable key. */
  const nameOf = async (account: AccountId, id: string): Promise<{ owner: OwnerRow; id: string } | undefined> => {
    const found = await keys.find(account)
    return found.kind === 'found' ? { owner: found.key.owner, id: digestId(found.key, 'response', id) } : undefined
  }
  const sweep = async (): Promise<number> => {
    await store.inTurn(() => makeRoom(file, 0, services.bytesMax))
    for (let ended = 0; ; ) {
      const some = await store.inTurn(() => endExpired(file, services.now()))
      ended += some
      if (some === 0) return ended
    }
  }

  return {
    async forget(id, account) {
      const work = async () => {
        const name = await nameOf(account, id)
        if (name !== undefined) await disownResponse(file, name)
      }
      await store.inTurn(work).catch(services.onFailure)
    },
    remove: (account, id) =>
      store.inTurn(async () => {
        const name = services.keeps ? await nameOf(account, id) : undefined
        return name !== undefined && hideResponse(file, { ...name, now: services.now() })
      }),
    recover: () => store.inTurn(() => failRunning(file)),
    sweep,
    async forgetAccount(account) {
      store.closeAccount(account)
      await store.inTurn(async () => {
        keys.drop(account)
        const owner = await findOwner(file, account)
        if (owner === undefined) return
        await destroyKey(file, owner)
        await hideAll(file, owner)
      })
      await sweep()
      // SQLite overwrites the key in its page; the checkpoint removes the page's older versions.
      await file.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
    },
  }
}

/** All responses that wait to be written; more of them on a slow disk would fill the memory. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024
/** Items may be deleted between the lookup and the write, but hardly twice in a row. */
const ATTEMPTS_MAX = 3

/** Seals and digests responses here; the store writes them. */
function writeResponses(services: ResponseServices): Pick<StoredResponses, 'begin' | 'finish' | 'end'> {
  const { file, keys, store } = services
  const waiting = createByteBudget(WAITING_BYTES_MAX)

  const write = async (account: AccountId, prepare: (key: AccountKey) => Promise<ResponseWrite>): Promise<boolean> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      // A destroyed key is not replaced.
      if (store.isClosed(account)) return false
      const key = await keys.findOrMake(account)
      if (key === undefined) throw new Error(`The key of account ${account} cannot be read with this key ring`)
      const outcome = await store.add(await prepare(key))
      if (outcome !== 'stale') return outcome === 'written'
      keys.drop(account)
    }
    throw new Error('The items of a response were deleted each time before it could be written')
  }
  const keep = async (bytes: number, work: () => Promise<boolean>): Promise<boolean> => {
    if (!services.keeps) return false
    try {
      if (!waiting.take(bytes)) throw new Error('Too many responses wait to be written')
      const done = work().finally(() => waiting.give(bytes))
      return await inTime(done, 'A response')
    } catch (error) {
      services.onFailure(error)
      return false
    }
  }

  return {
    begin: (response) =>
      keep(response.object.length, () => write(response.account, (key) => prepareBegin(key, response))),
    async finish(response) {
      if (response.input.length + response.output.length > RESPONSE_ITEMS_MAX) return false
      return keep(bytesOf(response), () => write(response.account, (key) => prepareFinish(file, key, response)))
    },
    async end(id, account, status, object) {
      await keep(object.length, () => write(account, (key) => prepareEnd(key, { id, status, object })))
    },
  }
}

const bytesOf = ({ object, input, output, events }: EndedResponse): number =>
  [object, ...input, ...output].reduce((sum, { length }) => sum + length, events?.length ?? 0)

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
} as const

const freshOf = (key: AccountKey, { requestId, createdAt, expiresAt, parent }: StartedResponse) => ({
  ...{ requestId, createdAt, expiresAt },
  parent: parent === undefined ? undefined : digestId(key, 'response', parent),
})

async function prepareBegin(key: AccountKey, response: StartedResponse): Promise<ResponseWrite> {
  const id = digestId(key, 'response', response.id)
  const object = await sealPart(key, objectName(id), response.object)
  return { ...NOTHING, key, id, fresh: freshOf(key, response), status: 'in_progress', object }
}

async function prepareEnd(
  key: AccountKey,
  ended: { readonly id: string; readonly status: 'failed' | 'cancelled'; readonly object: Buffer },
): Promise<ResponseWrite> {
  const id = digestId(key, 'response', ended.id)
  const object = await sealPart(key, objectName(id), ended.object)
  return { ...NOTHING, key, id, fresh: undefined, status: ended.status, object }
}

/** Digests all items, and seals those that are not stored yet. */
async function prepareFinish(file: SqliteFile, key: AccountKey, response: EndedResponse): Promise<ResponseWrite> {
  const { status, facts } = response
  const id = digestId(key, 'response', response.id)
  const input = await digestItems(key, response.input)
  const output = await prepareOutput(key, response.output)
  const byDigest = new Map<string, { bytes: Buffer; id: string | null }>()
  input.forEach((digest, at) => {
    byDigest.set(digest, { bytes: response.input[at]!, id: null })
  })
  output.forEach((item, at) => {
    byDigest.set(item.digest, { bytes: response.output[at]!, id: item.id })
  })
  const known = await findKnown(file, key, [...byDigest.keys()])
  const fresh = [...byDigest].filter(([digest]) => !known.has(digest))
  const items = await sealInSlices(fresh, async ([digest, item]): Promise<SealedItem> => {
    return { ...(await sealPart(key, itemName(digest), item.bytes)), digest, id: item.id }
  })
  const object = await sealPart(key, objectName(id), response.object)
  const itemBytes = [...response.input, ...response.output].reduce((sum, { length }) => sum + length, 0)
  const log = await sealLog(key, id, response.events)
  return {
    key,
    id,
    fresh: freshOf(key, response),
    status,
    object,
    facts: facts ?? null,
    input,
    output,
    itemBytes,
    items,
    isAsSent: response.isAsSent === true && log.log === 'kept',
    ...log,
  }
}

async function prepareOutput(key: AccountKey, items: readonly Buffer[]) {
  const digests = await digestItems(key, items)
  return sealInSlices(
    digests.map((digest, at) => ({ digest, bytes: items[at]! })),
    async ({ digest, bytes }) => {
      const item = tryParse(bytes.toString('utf8'))
      const named = isObject(item) && typeof item.id === 'string'
      return { digest, id: named ? digestId(key, 'item', item.id as string) : null }
    },
  )
}

async function findKnown(file: SqliteFile, { owner }: AccountKey, digests: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>()
  for (let at = 0; at < digests.length; at += ITEMS_AT_ONCE) {
    const some = digests.slice(at, at + ITEMS_AT_ONCE).map((digest) => [owner, digest] as const)
    for (const { digest } of await listThere(file, some)) known.add(digest)
  }
  return known
}
