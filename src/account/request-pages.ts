import {
  findSliceStart,
  type ListedRequest,
  listRequestsOfAccount,
  listRunningRequests,
  type RequestFilter,
} from '../store/account-requests.ts'
import type { LedgerDb } from '../store/tables.ts'
import { cutPage } from './page-args.ts'
import { readInSlices, type SlicedPage } from './read-in-slices.ts'

export interface PageOfRequests {
  readonly account: number
  readonly filter: RequestFilter
  readonly before: number
  /** No request with a lower row is looked at. */
  readonly from: number
  readonly limit: number
}

/** Requests of an account, newest first, by their rows. */
export async function readRequestPage(db: LedgerDb, page: PageOfRequests): Promise<SlicedPage<ListedRequest>> {
  const { account, filter, limit, from, before } = page
  if (filter.outcome === 'running') {
    return cutPage(await listRunningRequests(db, account, { before, limit: limit + 1, filter }), limit, rowOf)
  }
  return readInSlices({
    ...{ from, before, limit, numberOf: rowOf },
    sliceStart: (slice) => findSliceStart(db, account, slice),
    list: (slice) => listRequestsOfAccount(db, account, { ...slice, filter }),
  })
}

const rowOf = ({ row }: ListedRequest): number => row
