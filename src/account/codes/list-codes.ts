import type { z } from 'zod'
import type { codeItem } from '../../contract/operate.ts'
import type { PageQuery } from '../../contract/values.ts'
import type { Clock } from '../../lib/clock.ts'
import { formatUsd } from '../../model/money.ts'
import { type CodeWithAccount, findCodeById, listCodePage } from '../../store/codes.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { isoTime, isoTimeOrNull } from '../moments.ts'
import { quoted } from '../naming.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import { cutPage, type Page } from '../pages.ts'

/** A code as the operator sees it: never its text, which is stored nowhere. */
export type CodeView = z.output<typeof codeItem>

export const codeView = (code: CodeWithAccount, now: number): CodeView => ({
  id: code.id,
  shown: code.shown,
  amount: formatUsd(code.amount_nano),
  note: code.note,
  created_at: isoTime(code.created_at),
  expires_at: isoTimeOrNull(code.expires_at),
  state: stateOf(code, now),
  redeemed_by: code.redeemer,
  redeemed_at: isoTimeOrNull(code.redeemed_at),
})

/** What has happened to it is said before what time has done. */
function stateOf(code: CodeWithAccount, now: number): CodeView['state'] {
  if (code.redeemed_at !== null) return 'redeemed'
  if (code.withdrawn_at !== null) return 'withdrawn'
  return code.expires_at !== null && code.expires_at <= now ? 'expired' : 'open'
}

/** Newest first, redeemed and withdrawn ones included. A page begins after the code it names. */
export async function listCodes(
  deps: { readonly db: LedgerDb; readonly clock: Clock },
  { after, limit }: PageQuery,
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
