import type { z } from 'zod'
import type { pageOf } from '../../contract/values.ts'
import type { movement, statementQuery } from '../../contract/wallet.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd } from '../../model/money.ts'
import { findLastMovement, findSliceStart } from '../../store/movements.ts'
import {
  findMovementTime,
  listStatement,
  type MovementRange,
  type StatementKind,
  type StatementRow,
} from '../../store/statement.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { findFirstSince, readInSlices, type SlicedPage } from '../find-movements.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { readCursor, writeCursor } from '../pages.ts'
import { type OpenRange, readOpenRange } from '../usage/day-range.ts'

export type StatementLine = z.output<typeof movement>
type Statement = z.output<ReturnType<typeof pageOf<typeof movement>>>

/** What moved a wallet, newest first, each with the balance behind it. */
export async function walletStatement(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  { after, limit, kind, ...days }: z.output<typeof statementQuery>,
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

/** Lines of a wallet's statement, newest first, by their numbers. Requests that cost nothing are no lines. */
export const readStatementPage = (
  db: LedgerDb,
  account: AccountRow,
  { kind, ...page }: MovementRange & { readonly kind: StatementKind | undefined; readonly limit: number },
): Promise<SlicedPage<StatementRow>> =>
  readInSlices({
    ...page,
    numberOf: ({ movement }) => movement,
    // Transfers have their own index by kind of money, and there are only as many as people have made.
    sliceStart: async (slice) =>
      kind === undefined || kind === 'charge'
        ? findSliceStart(db, account, { ...slice, kinds: ['wallet'] })
        : undefined,
    list: (slice) => listStatement(db, account, { ...slice, kind }),
  })

/** The numbers of what moved the wallet in these days. */
export async function movementsIn(db: LedgerDb, account: AccountRow, days: OpenRange): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findMovementTime(db, account, movement)
  const firstSince = async (moment: number | undefined, otherwise: number) =>
    moment === undefined ? otherwise : await findFirstSince({ moment, end, timeOf })
  return { from: await firstSince(days.from, 0), before: await firstSince(days.before, end) }
}
