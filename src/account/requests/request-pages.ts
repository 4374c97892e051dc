import {
  type ClosedRequest,
  kindsOf,
  type ListedRequest,
  listClosedRequests,
  listRunningRequests,
  type RequestFilter,
} from '../../store/account-requests.ts'
import { findSliceStart } from '../../store/movements.ts'
import type { MovementRange } from '../../store/statement.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { readInSlices } from '../find-movements.ts'
import type { Refused } from '../outcome.ts'
import { cutPage, readCursor, writeCursor } from '../pages.ts'

/** Where a page of requests ends: among those that run, by their rows, or among those that have ended, by their numbers. */
export type RequestCursor =
  | { readonly among: 'running'; readonly row: number }
  | { readonly among: 'ended'; readonly movement: number }

const RUNNING = 'r.'

export function writeRequestCursor(cursor: RequestCursor | null): string | null {
  if (cursor?.among === 'running') return `${RUNNING}${writeCursor(cursor.row)}`
  return writeCursor(cursor?.movement ?? null)
}

/** Undefined for no cursor: the first page. */
export function readRequestCursor(text: string | undefined): RequestCursor | undefined | Refused {
  const isRunning = text?.startsWith(RUNNING) === true
  const number = readCursor(isRunning ? text.slice(RUNNING.length) : text)
  if (typeof number !== 'number') return number
  return isRunning ? { among: 'running', row: number } : { among: 'ended', movement: number }
}

/** Requests that have ended are looked for among those numbers only. */
export interface PageOfRequests extends MovementRange {
  readonly account: number
  readonly filter: RequestFilter
  /** Undefined: the first page. */
  readonly after: RequestCursor | undefined
  readonly limit: number
}

export interface RequestPage {
  readonly rows: readonly ListedRequest[]
  readonly next: RequestCursor | null
}

/**
 * Requests of an account: those that run, the newest first, and behind them those that have ended, the last one first. One
 * that ends between two pages, or while one is read, may be told again, and is never left out.
 */
export async function readRequestPage(db: LedgerDb, page: PageOfRequests): Promise<RequestPage> {
  const { filter, after, limit } = page
  const { rows: running, next } = await readRunning(db, page)
  if (next !== null || filter.outcome === 'running') return { rows: running, next }
  const before = after?.among === 'ended' ? Math.min(after.movement, page.before) : page.before
  const ended = await readEnded(db, { ...page, before, limit: limit - running.length })
  const told = new Set(running.map(({ row }) => row))
  return {
    rows: [...running, ...ended.rows.filter(({ row }) => !told.has(row))],
    next: ended.next === null ? null : { among: 'ended', movement: ended.next },
  }
}

async function readRunning(db: LedgerDb, { account, filter, after, limit }: PageOfRequests): Promise<RequestPage> {
  const hasEnded = filter.outcome === 'ok' || filter.outcome === 'not_ok'
  if (hasEnded || after?.among === 'ended') return { rows: [], next: null }
  const before = after?.row ?? Number.MAX_SAFE_INTEGER
  const rows = await listRunningRequests(db, account, { before, limit: limit + 1, filter })
  return cutPage(rows, limit, ({ row }) => ({ among: 'running', row }))
}

const readEnded = (db: LedgerDb, { account, filter, ...page }: PageOfRequests) =>
  readInSlices<ClosedRequest>({
    ...page,
    numberOf: ({ movement }) => movement,
    sliceStart: (slice) => findSliceStart(db, account, { ...slice, kinds: kindsOf(filter) }),
    list: (slice) => listClosedRequests(db, account, { ...slice, filter }),
  })
