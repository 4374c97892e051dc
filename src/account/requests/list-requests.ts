import type { z } from 'zod'
import type { requestsPage, requestsQuery } from '../../contract/requests.ts'
import type { AccountRow } from '../../model/ids.ts'
import {
  type ClosedRequest,
  kindsOf,
  type ListedRequest,
  listClosedRequests,
  listRunningRequests,
  type RequestFilter,
} from '../../store/account-requests.ts'
import { findSliceStart } from '../../store/movements.ts'
import { findReceipt } from '../../store/receipts.ts'
import type { MovementRange } from '../../store/statement.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { readInSlices } from '../find-movements.ts'
import { findOwnedKey } from '../keys/find-owned-key.ts'
import { done, type Outcome, type Refused } from '../outcome.ts'
import { cutPage, noSuchPage, readCursor, writeCursor } from '../pages.ts'
import { requestItemOf } from './receipt-view.ts'

type RequestsPage = z.output<typeof requestsPage>

/** An account's requests, the running ones first, and those that have ended behind them. */
export async function listRequests(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  { after, limit, key: keyId, ...filter }: z.output<typeof requestsQuery>,
): Promise<Outcome<RequestsPage>> {
  const found = keyId === undefined ? undefined : await findOwnedKey({ db }, keyId, account)
  if (found?.kind === 'refused') return found
  const key = found?.key.row
  return readRequestPage(db, { account, filter: { ...filter, key }, after, limit, ...EVER })
}

const EVER = { from: 0, before: Number.MAX_SAFE_INTEGER }

/** Requests that have ended are looked for among those numbers only. */
export interface PageOfRequests extends MovementRange {
  readonly account: AccountRow
  readonly filter: RequestFilter
  /** The `next` of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Requests of an account: those that run, the newest first, and behind them those that have ended, the last one first. One
 * that ends between two pages, or while one is read, may be told again, and is never left out.
 */
export async function readRequestPage(db: LedgerDb, page: PageOfRequests): Promise<Outcome<RequestsPage>> {
  const { account, filter, limit } = page
  const after = await readPlace(db, account, page.after)
  if ('kind' in after) return after
  const { rows: running, next } = await readRunning(db, page, after)
  if (next !== null || filter.outcome === 'running') return done({ items: running.map(itemOf), next })
  const before = Math.min(after.ended ?? page.before, page.before)
  const ended = await readEnded(db, { ...page, before, limit: limit - running.length })
  const told = new Set(running.map(({ row }) => row))
  const rows = [...running, ...ended.rows.filter(({ row }) => !told.has(row))]
  return done({ items: rows.map(itemOf), next: writeCursor(ended.next) })
}

const itemOf = (row: ListedRequest) => requestItemOf(row, { id: row.key_id, name: row.key_name })

/** Where the page before ended: behind a row of those that run, or behind a number of those that have ended; both absent: nowhere. */
interface Place {
  readonly running?: number
  readonly ended?: number
}

/** One that runs has no number yet, and its row would tell how many requests there are in all the house: its id names it. */
async function readPlace(db: LedgerDb, account: AccountRow, after: string | undefined): Promise<Place | Refused> {
  if (after?.startsWith('req_')) {
    const receipt = await findReceipt(db, after)
    return receipt?.account === account ? { running: receipt.row } : noSuchPage()
  }
  const movement = readCursor(after)
  if (movement === undefined) return {}
  return typeof movement === 'number' ? { ended: movement } : movement
}

async function readRunning(db: LedgerDb, { account, filter, limit }: PageOfRequests, after: Place) {
  const hasEnded = filter.outcome === 'ok' || filter.outcome === 'not_ok'
  if (hasEnded || after.ended !== undefined) return { rows: [], next: null }
  const before = after.running ?? Number.MAX_SAFE_INTEGER
  const rows = await listRunningRequests(db, account, { before, limit: limit + 1, filter })
  return cutPage(rows, limit, ({ request_id }) => request_id)
}

const readEnded = (db: LedgerDb, { account, filter, ...page }: PageOfRequests) =>
  readInSlices<ClosedRequest>({
    ...page,
    numberOf: ({ movement }) => movement,
    sliceStart: (slice) => findSliceStart(db, account, { ...slice, kinds: kindsOf(filter) }),
    list: (slice) => listClosedRequests(db, account, { ...slice, filter }),
  })
