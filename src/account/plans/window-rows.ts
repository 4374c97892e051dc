import type { z } from 'zod'
import type { windowRows as contractRows } from '../../contract/plan.ts'
import type { pageQuery } from '../../contract/values.ts'
import type { AccountRow } from '../../model/ids.ts'
import { findLastMovement } from '../../store/movements.ts'
import type { MovementRange } from '../../store/statement.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { findPlanClosingTime, findWindow, type StoredWindow } from '../../store/windows.ts'
import { findFirstSince } from '../find-movements.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { readRequestPage } from '../requests/list-requests.ts'
import { countOnWindows, parseWindowId, storedWindow } from './windows.ts'

/** The requests that make the bar of a window, the running ones first: charges add up to what is used, open holds to what is held. */
export async function windowRows(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  id: string,
  { after, limit }: z.output<typeof pageQuery>,
): Promise<Outcome<z.output<typeof contractRows>>> {
  const named = parseWindowId(id)
  const window = named && (await findWindow(db, account, named))
  if (window === undefined) return refused('window_not_found', 'This account has no such window of a plan.')
  const counts = await countOnWindows(db, account, [{ bucket: window.row, start: window.period_start }])
  const page = await readRequestPage(db, {
    ...{ account, after, limit, ...(await movementsOn(db, account, window)) },
    filter: { kind: 'builder', bucket: window.row },
  })
  if (page.kind === 'refused') return page
  return done({ window: storedWindow(window, counts.get(window.row) ?? null), ...page.value })
}

/** The numbers among which are those of all requests that stood on a window. One may end long after the window has. */
async function movementsOn(
  db: LedgerDb,
  account: AccountRow,
  { period_start, closed_at }: StoredWindow,
): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findPlanClosingTime(db, account, movement)
  const from = await findFirstSince({ moment: period_start, end, timeOf })
  if (closed_at === null) return { from, before: Number.MAX_SAFE_INTEGER }
  return { from, before: await findFirstSince({ moment: closed_at + 1, end, timeOf }) }
}
