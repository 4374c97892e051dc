import { isObject } from '../lib/is-object.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { tryParse } from '../wire/json/try-parse.ts'
import type { AccountKey } from './account-keys.ts'
import { sealLog } from './event-log.ts'
import { listThere } from './item-rows.ts'
import { digestId, digestItems } from './keyed-digests.ts'
import type { ResponseWrite, SealedItem } from './response-write.ts'
import { itemName, objectName, sealInSlices, sealPart } from './sealed-part.ts'
import type { EndedResponse, StartedResponse } from './stored-responses.ts'

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

export async function prepareBegin(key: AccountKey, response: StartedResponse): Promise<ResponseWrite> {
  const id = digestId(key, 'response', response.id)
  const object = await sealPart(key, objectName(id), response.object)
  return { ...NOTHING, key, id, fresh: freshOf(key, response), status: 'in_progress', object }
}

export async function prepareEnd(
  key: AccountKey,
  ended: { readonly id: string; readonly status: 'failed' | 'cancelled'; readonly object: Buffer },
): Promise<ResponseWrite> {
  const id = digestId(key, 'response', ended.id)
  const object = await sealPart(key, objectName(id), ended.object)
  return { ...NOTHING, key, id, fresh: undefined, status: ended.status, object }
}

/** Everything digested, and sealed what is not there yet. */
export async function prepareFinish(
  file: SqliteFile,
  key: AccountKey,
  response: EndedResponse,
): Promise<ResponseWrite> {
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
