import type { z } from 'zod'
import type { windowRows as contractRows } from '../contract/plan.ts'
import type { pageQuery } from '../contract/values.ts'
import type { AccountRow } from '../model/ids.ts'
import { findNewestRows } from '../store/receipts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { findOpeningTime, findWindow } from '../store/windows.ts'
import { countOnWindows } from './count-on-windows.ts'
import { findFirstSince } from './find-first-since.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { PAGE_LIMIT } from './page-args.ts'
import { readCursor, writeCursor } from './page-cursor.ts'
import { requestItemOf } from './request-item.ts'
import { readRequestPage } from './request-pages.ts'
import { storedWindow } from './stored-window.ts'
import { parseWindowId } from './window-id.ts'

/** The requests that make the bar of a window, newest first: charges add up to what is used, open holds to what is held. */
export async function windowRows(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  id: string,
  { after, limit = PAGE_LIMIT }: z.output<typeof pageQuery>,
): Promise<Outcome<z.output<typeof contractRows>>> {
  const cursor = readCursor(after)
  if (typeof cursor === 'object') return cursor
  const named = parseWindowId(id)
  const window = named && (await findWindow(db, account, named))
  if (window === undefined) return refused('window_not_found', 'This account has no such window of a plan.')
  const counts = await countOnWindows(db, account, [{ bucket: window.row, start: window.period_start }])
  const firstRowSince = await rowsByTime(db)
  const [from, end] = [await firstRowSince(window.period_start), await firstRowSince(window.period_end)]
  const page = await readRequestPage(db, {
    ...{ account, from, limit, before: Math.min(cursor ?? end, end) },
    filter: { kind: 'builder', bucket: window.row },
  })
  return done({
    window: storedWindow(window, counts.get(window.row) ?? null),
    items: page.rows.map((row) => requestItemOf(row, { id: row.key_id, name: row.key_name })),
    next: writeCursor(page.next),
  })
}

/** Requests are numbered in the order of their times. */
async function rowsByTime(db: LedgerDb): Promise<(moment: number) => Promise<number>> {
  const end = (await findNewestRows(db)).receipt + 1
  return (moment) => findFirstSince({ moment, end, timeOf: (row) => findOpeningTime(db, row) })
}
