import type { Clock } from '../lib/clock.ts'
import { findCodeById, listCodePage } from '../store/codes.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type CodeView, codeView } from './code-view.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { cutPage, type Page, type PageArgs } from './page-args.ts'
import { quoted } from './quoted.ts'

/** Newest first, redeemed and withdrawn ones included. A page begins after the code it names. */
export async function listCodes(
  deps: { readonly db: LedgerDb; readonly clock: Clock },
  { after, limit }: PageArgs,
): Promise<Outcome<Page<CodeView>>> {
  const last = after === undefined ? undefined : await findCodeById(deps.db, after)
  if (after !== undefined && last === undefined) return noSuchCode(after)
  const before = last?.row ?? Number.MAX_SAFE_INTEGER
  const { rows, next } = cutPage(await listCodePage(deps.db, { before, limit: limit + 1 }), limit, ({ id }) => id)
  const now = deps.clock.now()
  return done({ items: rows.map((row) => codeView(row, now)), next })
}

export const noSuchCode = (id: string): Refused =>
  refused('code_not_found', `There is no code ${quoted(id)}. See: millrace codes list`)
