import type { z } from 'zod'
import type { pageOf } from '../contract/values.ts'
import type { movement, statementQuery } from '../contract/wallet.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import type { StatementRow } from '../store/statement.ts'
import type { LedgerDb } from '../store/tables.ts'
import { isoTime } from './iso-time.ts'
import { readOpenRange } from './open-range.ts'
import { done, type Outcome } from './outcome.ts'
import { PAGE_LIMIT } from './page-args.ts'
import { readCursor, writeCursor } from './page-cursor.ts'
import { movementsIn, readStatementPage } from './statement-pages.ts'

export type StatementLine = z.output<typeof movement>
type Statement = z.output<ReturnType<typeof pageOf<typeof movement>>>

/** What moved a wallet, newest first, each with the balance behind it. */
export async function walletStatement(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  { after, limit = PAGE_LIMIT, kind, ...days }: z.output<typeof statementQuery>,
): Promise<Outcome<Statement>> {
  const cursor = readCursor(after) ?? Number.MAX_SAFE_INTEGER
  if (typeof cursor !== 'number') return cursor
  const range = readOpenRange(days)
  if (range.kind === 'refused') return range
  const { from, before } = await movementsIn(db, account, range.value)
  const page = await readStatementPage(db, account, { from, before: Math.min(before, cursor), kind, limit })
  return done({
    items: page.rows.map(statementLine),
    next: writeCursor(page.next),
  })
}

export const statementLine = (row: StatementRow): StatementLine => ({
  movement: row.movement,
  at: isoTime(row.at),
  kind: row.kind,
  amount: formatUsd(row.amount_nano),
  balance: row.balance_nano === null ? null : formatUsd(row.balance_nano),
  ref: row.ref,
  reason: row.reason,
  model: row.model,
  key: row.key_id === null ? null : { id: row.key_id, name: row.key_name ?? '' },
})
