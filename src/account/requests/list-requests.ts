import type { z } from 'zod'
import type { requestsPage, requestsQuery } from '../../contract/requests.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { findOwnedKey } from '../keys/find-owned-key.ts'
import { done, type Outcome } from '../outcome.ts'
import { PAGE_LIMIT } from '../pages.ts'
import { requestItemOf } from './receipt-view.ts'
import { readRequestCursor, readRequestPage, writeRequestCursor } from './request-pages.ts'

/** An account's requests, the running ones first, and those that have ended behind them. */
export async function listRequests(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  { after, limit = PAGE_LIMIT, key: keyId, ...filter }: z.output<typeof requestsQuery>,
): Promise<Outcome<z.output<typeof requestsPage>>> {
  const cursor = readRequestCursor(after)
  if (cursor !== undefined && 'kind' in cursor) return cursor
  const found = keyId === undefined ? undefined : await findOwnedKey({ db }, keyId, account)
  if (found?.kind === 'refused') return found
  const key = found?.key.row
  const page = await readRequestPage(db, { account, filter: { ...filter, key }, after: cursor, ...EVER, limit })
  return done({
    items: page.rows.map((row) => requestItemOf(row, { id: row.key_id, name: row.key_name })),
    next: writeRequestCursor(page.next),
  })
}

const EVER = { from: 0, before: Number.MAX_SAFE_INTEGER }
