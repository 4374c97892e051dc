import { createByteBudget } from '../../lib/bytes.ts'
import { isObject } from '../../lib/types.ts'
import type { AccountId } from '../../model/ids.ts'
import { tryParse } from '../../protocols/json/bytes.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { sealLog } from './event-log.ts'
import { readResponses } from './read-responses.ts'
import { disownResponse, failRunning, hideAll, hideResponse, listThere } from './response-rows.ts'
import {
  createResponseCache,
  endExpired,
  makeRoom,
  type ResponseCache,
  type ResponseWrite,
  type SealedItem,
} from './response-store.ts'
import {
  type AccountKey,
  type AccountKeys,
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

interface StoredResponsesDeps {
  readonly file: SqliteFile
  /** The first one wraps the keys of accounts; the others only open what they wrapped. */
  readonly ring: readonly [SealingKey, ...SealingKey[]]
  readonly now: () => number
  /** Of all that is stored, as it lies on the disk. 0: nothing is stored. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** How they come, how they are read, and how they go: over the same keys and the same shelf. */
export function createStoredResponses(deps: StoredResponsesDeps): StoredResponses {
  const keeps = deps.bytesMax > 0
  const shared = {
    ...deps,
    keeps,
    keys: createAccountKeys(deps),
    shelf: createResponseCache(deps.file, deps.bytesMax),
  }
  return { keeps, ...keepResponses(shared), ...readResponses(shared), ...forgetResponses(shared) }
}

interface ForgetterDeps {
  readonly file: SqliteFile
  readonly keys: AccountKeys
  readonly shelf: ResponseCache
  readonly keeps: boolean
  readonly now: () => number
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

type Forgetting = Pick<StoredResponses, 'forget' | 'remove' | 'recover' | 'sweep' | 'forgetAccount'>

/** How responses go: by a wish, by a fault, with their time, with their account. */
function forgetResponses({ file, keys, shelf, ...deps }: ForgetterDeps): Forgetting {
  /** The digest that it is known by; undefined where nothing of the account can be known. */
  const nameOf = async (account: AccountId, id: string): Promise<{ owner: OwnerRow; id: string } | undefined> => {
    const found = await keys.find(account)
    return found.kind === 'found' ? { owner: found.key.owner, id: digestId(found.key, 'response', id) } : undefined
  }
  const sweep = async (): Promise<number> => {
    await shelf.inTurn(() => makeRoom(file, 0, deps.bytesMax))
    for (let ended = 0; ; ) {
      const some = await shelf.inTurn(() => endExpired(file, deps.now()))
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
      await shelf.inTurn(work).catch(deps.onFailure)
    },
    remove: (account, id) =>
      shelf.inTurn(async () => {
        const name = deps.keeps ? await nameOf(account, id) : undefined
        return name !== undefined && hideResponse(file, { ...name, now: deps.now() })
      }),
    recover: () => shelf.inTurn(() => failRunning(file)),
    sweep,
    async forgetAccount(account) {
      shelf.closeAccount(account)
      await shelf.inTurn(async () => {
        keys.drop(account)
        const owner = await findOwner(file, account)
        if (owner === undefined) return
        await destroyKey(file, owner)
        await hideAll(file, owner)
      })
      await sweep()
      // The key is overwritten in its page; here the page's older versions go too.
      await file.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
    },
  }
}

interface KeeperDeps {
  readonly file: SqliteFile
  readonly keys: AccountKeys
  readonly shelf: ResponseCache
  readonly keeps: boolean
  readonly onFailure: (error: unknown) => void
}

/** Of responses that wait to be written, all together: beyond, a disk that is too slow would fill the memory. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024
/** What it counted on may go between the look and the write; twice in a row it does not. */
const ATTEMPTS_MAX = 3

/** How responses come into the file: made ready here, written by the shelf. */
export function keepResponses(deps: KeeperDeps): Pick<StoredResponses, 'begin' | 'finish' | 'end'> {
  const { file, keys, shelf } = deps
  const waiting = createByteBudget(WAITING_BYTES_MAX)

  const write = async (account: AccountId, prepare: (key: AccountKey) => Promise<ResponseWrite>): Promise<boolean> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      // A key that was destroyed is not made anew.
      if (shelf.isClosed(account)) return false
      const key = await keys.findOrMake(account)
      if (key === undefined) throw new Error(`The key of account ${account} cannot be read with this key ring`)
      const outcome = await shelf.add(await prepare(key))
      if (outcome !== 'stale') return outcome === 'written'
      keys.drop(account)
    }
    throw new Error('What a response refers to went each time that it was to be written')
  }
  const keep = async (bytes: number, work: () => Promise<boolean>): Promise<boolean> => {
    if (!deps.keeps) return false
    try {
      if (!waiting.take(bytes)) throw new Error('Too many responses wait to be written')
      const done = work().finally(() => waiting.give(bytes))
      return await inTime(done, 'A response')
    } catch (error) {
      deps.onFailure(error)
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

/** Looked for in one question. */
const LOOKED_FOR_AT_ONCE = 500

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

/** Everything digested, and sealed what is not there yet. */
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
  for (let at = 0; at < digests.length; at += LOOKED_FOR_AT_ONCE) {
    const some = digests.slice(at, at + LOOKED_FOR_AT_ONCE).map((digest) => [owner, digest] as const)
    for (const { digest } of await listThere(file, some)) known.add(digest)
  }
  return known
}
