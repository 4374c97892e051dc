import { setTimeout as sleep } from 'node:timers/promises'
import { createTurns } from '../../lib/async.ts'
import { type ByteBudget, createByteBudget } from '../../lib/bytes.ts'
import { isObject } from '../../lib/types.ts'
import type { ReadScope } from '../../model/caller.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { jsonArray, spliceMembers, tryParse } from '../../protocols/json/bytes.ts'
import { INNER_BOUNDS, PIECE_BYTES, passTurnstile, scanInPieces, scanJson } from '../../protocols/json/scan-json.ts'
import { isUnavailable, type SqlStore } from '../sql-store.ts'
import { framesAsTheyCome, framesFrom, LOOK_AGAIN_MS, type SentStream, sentStream } from './event-log.ts'
import {
  type ChainRow,
  findFacts,
  findLogSize,
  findObject,
  findObjectBytes,
  findSent,
  findShown,
  isStopped,
  type LinkRow,
  listChain,
  listItems,
  listLinks,
  listNamed,
  listOutput,
  type NamedItemRow,
  type ResponseRow,
  type ResponseStatus,
  slicesOf,
} from './response-rows.ts'
import type { ResponseServices } from './response-store.ts'
import { type AccountKey, digestId, itemName, objectName, openInSlices, openPart } from './sealing.ts'

export interface FoundResponse {
  readonly status: ResponseStatus
  /** The JSON of the response with its output. */
  readonly body: Buffer
}

export interface WantedResponse {
  readonly scope: ReadScope
  readonly id: string
  /** Called with its bytes before they are read. When it returns false, nothing is read. */
  readonly take: (bytes: number) => boolean
}

export type FoundContext =
  | { readonly kind: 'found'; readonly items: readonly Buffer[] }
  | { readonly kind: 'not-found' }
  /** It runs, or has ended without an answer that can be continued. */
  | { readonly kind: 'not-finished'; readonly status: ResponseStatus }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'damaged' }

export type FoundItems =
  | { readonly kind: 'found'; readonly items: ReadonlyMap<string, Buffer> }
  | { readonly kind: 'too-large' }

export type FoundEvents =
  /** Whole frames, in pieces, empty ones among them; throws when they cannot be read to their end. `isLive`: it may still run. */
  | { readonly kind: 'found'; readonly frames: AsyncIterable<Buffer>; readonly isLive: boolean }
  | { readonly kind: 'not-found' }
  /** The account follows as many running responses as it may. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'no-log'; readonly reason: 'too-large' | 'not-kept' }

export interface StoredFacts {
  readonly facts: string
  /** A repeated request gets its stream again. */
  readonly isAsSent: boolean
}

/** Beyond these the client has to send the whole conversation. */
const CHAIN_LENGTH_MAX = 10_000
const CONTEXT_ITEMS_MAX = 100_000
/** Links or ids in one query. */
const QUERIED_AT_ONCE = 2000

/** A larger response is read and put together while no other large one of its account is. */
const LARGE_BYTES = 1024 * 1024

/** Each follower asks the database a few times a second. */
const FOLLOWED_MAX = 50

interface Shown extends ResponseRow {
  readonly key: AccountKey
  /** The digest of its id. */
  readonly name: string
  readonly scope: ReadScope
}

const NOTHING = Buffer.alloc(0)

/** A damaged response is reported to the operator; its account finds none. */
export function readResponses({ file, keys, keeps, now, onFailure }: ResponseServices) {
  const reportDamage = (account: AccountId) =>
    onFailure(new Error(`A stored response of account ${account} cannot be read`))
  const findResponse = async (scope: ReadScope, id: string): Promise<Shown | 'none' | 'unreadable'> => {
    if (!keeps) return 'none'
    const found = await keys.find(scope.account)
    if (found.kind !== 'found') return found.kind
    const name = digestId(found.key, 'response', id)
    const row = await findShown(file, { owner: found.key.owner, id: name, person: scope.person, now: now() })
    return row === undefined ? 'none' : { ...row, key: found.key, name, scope }
  }
  /** Whether a response that cannot be read still exists: else it was deleted meanwhile. */
  const isThere = async ({ key, name, scope: { person } }: Shown): Promise<boolean> =>
    (await findShown(file, { owner: key.owner, id: name, person, now: now() })) !== undefined

  const followers = new Map<AccountId, number>()
  const takeFollower = (account: AccountId): boolean => {
    const others = followers.get(account) ?? 0
    if (others < FOLLOWED_MAX) followers.set(account, others + 1)
    return others < FOLLOWED_MAX
  }
  async function* countFollower(account: AccountId, frames: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* frames
    } finally {
      const left = (followers.get(account) ?? 1) - 1
      if (left > 0) followers.set(account, left)
      else followers.delete(account)
    }
  }

  const inTurnOf = createTurns<AccountId>()
  /** Takes the bytes of the response before it reads them. */
  const readUpTo = async (bytesMax: number, { scope, id, take }: WantedResponse) => {
    const shown = await findResponse(scope, id)
    if (shown === 'none') return undefined
    if (shown === 'unreadable') return 'damaged'
    const { response, key, name, status } = shown
    const links = await listOutput(file, response)
    const bytes = links.reduce((sum, link) => sum + link.raw_bytes, await findObjectBytes(file, response))
    if (bytes > bytesMax) return 'too-large'
    if (!take(bytes)) return 'no-memory'
    const sealed = await findObject(file, response)
    const object = sealed && (await openInSlices([sealed], (part) => openPart(key, objectName(name), part)))[0]
    const output = inOrder(links, await openItems(file, key, links))
    const body = object && output && (await responseBody(object, status, output))
    if (body !== undefined) return { status, body }
    return (await isThere(shown)) ? 'damaged' : undefined
  }
  const readResponse = async (wanted: WantedResponse): Promise<FoundResponse | 'damaged' | 'no-memory' | undefined> => {
    const found = await readUpTo(LARGE_BYTES, wanted)
    if (found !== 'too-large') return found
    const late = await inTurnOf(wanted.scope.account, () => readUpTo(Number.POSITIVE_INFINITY, wanted))
    return late === 'too-large' ? 'damaged' : late
  }
  /** The end of a stream whose own end was not kept, when there is memory for it. */
  async function* readEnd(
    of: Omit<WantedResponse, 'take'>,
    memory: ByteBudget,
    number: number,
  ): AsyncGenerator<Buffer> {
    let taken = 0
    const take = (bytes: number) => {
      const isTaken = memory.take(bytes)
      if (isTaken) taken += bytes
      return isTaken
    }
    try {
      let found = await readResponse({ ...of, take })
      for (; found === 'no-memory'; found = await readResponse({ ...of, take })) {
        yield NOTHING
        await sleep(LOOK_AGAIN_MS.most)
      }
      if (found === undefined || found === 'damaged') throw new Error('A response cannot be read at its end')
      yield lastEvents(found, number)
    } finally {
      memory.give(taken)
    }
  }
  const readContext = async (scope: ReadScope, id: string, bytesMax: number): Promise<FoundContext> => {
    const shown = await findResponse(scope, id)
    if (shown === 'none') return { kind: 'not-found' }
    if (shown === 'unreadable') return { kind: 'damaged' }
    const { status } = shown
    if (status !== 'completed' && status !== 'incomplete') return { kind: 'not-finished', status }
    const chain = await listChain(file, shown.response, CHAIN_LENGTH_MAX)
    const bytes = chain.reduce((sum, { item_bytes }) => sum + item_bytes, 0)
    const count = chain.reduce((sum, { items }) => sum + items, 0)
    if (bytes > bytesMax || count > CONTEXT_ITEMS_MAX || chain.length > CHAIN_LENGTH_MAX) return { kind: 'too-large' }
    const links = await linksOf(file, chain)
    const items = inOrder(links, await openItems(file, shown.key, links))
    if (items !== undefined && items.length === count) return { kind: 'found', items }
    return { kind: (await isThere(shown)) ? 'damaged' : 'not-found' }
  }

  const findWithin = async (wanted: WantedResponse): Promise<FoundResponse | 'no-memory' | undefined> => {
    const found = await readResponse(wanted)
    if (found !== 'damaged') return found
    reportDamage(wanted.scope.account)
    return undefined
  }

  return {
    async find(scope: ReadScope, id: string): Promise<FoundResponse | undefined> {
      const found = await findWithin({ scope, id, take: () => true })
      return found === 'no-memory' ? undefined : found
    },
    findWithin,
    /**
     * All items before the input of a request that continues from this response, in order; too-large when they are more than
     * `bytesMax` together.
     */
    async context(scope: ReadScope, id: string, bytesMax: number): Promise<FoundContext> {
      const found = await readContext(scope, id, bytesMax)
      if (found.kind === 'damaged') reportDamage(scope.account)
      return found
    },
    /** Items of answers by their ids, as long as a readable response has them. */
    async items({ account, person }: ReadScope, ids: readonly string[], bytesMax: number): Promise<FoundItems> {
      const found = await keys.find(account)
      if (found.kind !== 'found' || !keeps) return { kind: 'found', items: new Map() }
      const { key } = found
      const names = new Map([...new Set(ids)].map((id) => [digestId(key, 'item', id), id]))
      const rows: NamedItemRow[] = []
      for (const some of slicesOf([...names.keys()], QUERIED_AT_ONCE)) {
        for (const row of await listNamed(file, { owner: key.owner, ids: some, person, now: now() })) rows.push(row)
      }
      if (rows.reduce((sum, row) => sum + row.raw_bytes, 0) > bytesMax) return { kind: 'too-large' }
      const opened = await openItems(file, key, rows)
      const items = new Map<string, Buffer>()
      for (const { id, item } of rows) {
        const bytes = opened.get(item)
        if (bytes !== undefined) items.set(names.get(id)!, bytes)
      }
      return { kind: 'found', items }
    },
    /** `memory`: where the end of a stream is taken from that was not kept. */
    async events(
      scope: ReadScope,
      id: string,
      startingAfter: number,
      memory = createByteBudget(Number.POSITIVE_INFINITY),
    ): Promise<FoundEvents> {
      const shown = await findResponse(scope, id)
      if (typeof shown === 'string') return { kind: 'not-found' }
      const { response, status, log } = shown
      const size = await findLogSize(file, response)
      if (size !== undefined && log === 'kept')
        return { kind: 'found', isLive: false, frames: framesFrom(file, shown, { startingAfter, last: size.last }) }
      if (size === undefined && status !== 'in_progress')
        return { kind: 'no-log', reason: log === 'too-large' ? 'too-large' : 'not-kept' }
      if (!takeFollower(scope.account)) return { kind: 'too-many' }
      const frames = framesAsTheyCome(file, shown, {
        startingAfter,
        read: async () => {
          const row = await findResponse(scope, id)
          return typeof row === 'string' ? undefined : row
        },
        end: (number) => readEnd({ scope, id }, memory, number),
      })
      return { kind: 'found', isLive: true, frames: countFollower(scope.account, frames) }
    },
    /**
     * Whether a response that runs was cancelled or deleted, here or at another node. Never rejects: what cannot be read now is read later.
     */
    async isCancelled(account: AccountId, id: string): Promise<boolean> {
      try {
        const found = await keys.find(account)
        if (found.kind !== 'found') return found.kind === 'none'
        const { owner } = found.key
        return await isStopped(file, { owner, id: digestId(found.key, 'response', id) })
      } catch {
        return false
      }
    },
    /** The stream of a response, for a repeated request. */
    async sent(account: AccountId, requestId: RequestId): Promise<SentStream | undefined> {
      const found = keeps ? await keys.find(account) : undefined
      if (found?.kind !== 'found') return undefined
      const { key } = found
      const row = await findSent(file, { owner: key.owner, requestId, now: now() })
      return row && sentStream(file, { key, name: row.id, response: row.response })
    },
    /** The endings of those requests whose responses are stored. Never rejects. */
    async factsOf(requests: readonly RequestId[]): Promise<ReadonlyMap<RequestId, StoredFacts>> {
      const found = new Map<RequestId, StoredFacts>()
      for (const requestId of requests) {
        // One unreadable response must not block the holds of all others.
        const row = await findFacts(file, requestId).catch((error: unknown) => {
          // What cannot be looked up now is looked up with the next sweep.
          if (isUnavailable(error)) throw error
          onFailure(error)
        })
        if (row) found.set(requestId, { facts: row.facts, isAsSent: keeps && row.as_sent === 1 })
      }
      return found
    },
  }
}

async function linksOf(file: SqlStore, chain: readonly ChainRow[]): Promise<LinkRow[]> {
  const links: LinkRow[] = []
  let some: number[] = []
  let count = 0
  for (const [at, { response, items }] of chain.entries()) {
    some.push(response)
    count += items
    if (count < QUERIED_AT_ONCE && some.length < QUERIED_AT_ONCE && at < chain.length - 1) continue
    for (const link of await listLinks(file, some)) links.push(link)
    some = []
    count = 0
  }
  return links
}

/** Fetched in one query: a few milliseconds of the worker. */
const FETCHED_BYTES = 1024 * 1024
const FETCHED_AT_ONCE = 500

/** The JSON of these items, each opened once however often it is linked; without damaged or deleted ones. */
async function openItems(
  file: SqlStore,
  key: AccountKey,
  links: readonly LinkRow[],
): Promise<ReadonlyMap<number, Buffer>> {
  const opened = new Map<number, Buffer>()
  for (const slice of fetchedAtOnce(links)) {
    const rows = await listItems(file, slice)
    await openInSlices(rows, async (row) => {
      const bytes = await openPart(key, itemName(row.digest), row)
      if (bytes !== undefined) opened.set(row.item, bytes)
    })
  }
  return opened
}

function fetchedAtOnce(links: readonly LinkRow[]): number[][] {
  const slices: number[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const [item, size] of new Map(links.map((link) => [link.item, link.bytes]))) {
    if (bytes + size > FETCHED_BYTES || slices.at(-1)!.length >= FETCHED_AT_ONCE) {
      slices.push([])
      bytes = 0
    }
    slices.at(-1)!.push(item)
    bytes += size
  }
  return slices
}

/** Undefined when one is missing. */
function inOrder(links: readonly LinkRow[], opened: ReadonlyMap<number, Buffer>): Buffer[] | undefined {
  const items: Buffer[] = []
  for (const { item } of links) {
    const bytes = opened.get(item)
    if (bytes === undefined) return undefined
    items.push(bytes)
  }
  return items
}

/** Marks the object of a response whose client has requested encrypted reasoning, which only such items show. */
export const SHOWS_SEALS = 'shows_seals'

const INTERRUPTED = {
  code: 'server_error',
  message: 'The server stopped while this response was running. What was delivered of it has been charged; ask again.',
}

/**
 * The response as its client sees it, with its output. If its process died, only the row has its status; the object still
 * has `in_progress`.
 */
async function responseBody(
  object: Buffer,
  status: ResponseStatus,
  output: readonly Buffer[],
): Promise<Buffer | undefined> {
  const scanned = await scanInPieces(object, INNER_BOUNDS, { pieceBytes: PIECE_BYTES, pause: passTurnstile })
  if (scanned.kind !== 'scanned') return undefined
  const shows = scanned.members.some(({ name }) => name === SHOWS_SEALS)
  const changes = new Map<string, Buffer | string | null>([
    ['output', jsonArray(shows ? output : withoutSeals(output))],
    [SHOWS_SEALS, null],
  ])
  const member = scanned.members.find(({ name }) => name === 'status')
  const written = member && object.toString('utf8', member.valueStart, member.valueEnd)
  if (written !== JSON.stringify(status)) {
    changes.set('status', JSON.stringify(status))
    if (status === 'failed') changes.set('error', JSON.stringify(INTERRUPTED))
  }
  return spliceMembers({ bytes: object, members: scanned.members }, changes)
}

const LAST_EVENTS = { completed: 'response.completed', incomplete: 'response.incomplete' } as const

const CANCELLED = {
  code: 'response_cancelled',
  message: 'The response was cancelled. What was produced until then is charged.',
}

/** What ends a stream whose own end was not kept. No stream ends as cancelled: clients know a failure. */
function lastEvents({ status, body }: FoundResponse, number: number): Buffer {
  if (status === 'completed' || status === 'incomplete') return eventWith(LAST_EVENTS[status], number, body)
  const error = status === 'cancelled' ? CANCELLED : INTERRUPTED
  const nested = { ...error, type: 'server_error', param: null }
  const fields = JSON.stringify({ type: 'error', sequence_number: number, ...error, param: null, error: nested })
  const failed = withMembers(body, { status: 'failed', error })
  return Buffer.concat([
    Buffer.from(`event: error\ndata: ${fields}\n\n`),
    eventWith('response.failed', number + 1, failed),
  ])
}

function eventWith(type: string, number: number, response: Buffer): Buffer {
  const head = `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},"response":`
  return Buffer.concat([Buffer.from(head), response, Buffer.from('}\n\n')])
}

function withMembers(object: Buffer, values: Readonly<Record<string, unknown>>): Buffer {
  const scanned = scanJson(object, INNER_BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error('A stored response is no JSON')
  const changes = Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)] as const)
  return spliceMembers({ bytes: object, members: scanned.members }, new Map(changes))
}

const SEAL = Buffer.from('"encrypted_content"')

function withoutSeals(output: readonly Buffer[]): readonly Buffer[] {
  if (!output.some((item) => item.includes(SEAL))) return output
  return output.map((item) => {
    const value = item.includes(SEAL) ? tryParse(item.toString('utf8')) : undefined
    if (!isObject(value) || value.type !== 'reasoning') return item
    const { encrypted_content: _sealed, ...shown } = value
    return Buffer.from(JSON.stringify(shown))
  })
}
