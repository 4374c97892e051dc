import type { AccountRow } from '../model/ids.ts'
import { findLastMovement, findSliceStart } from '../store/movements.ts'
import {
  findMovementTime,
  listStatement,
  type MovementRange,
  type StatementKind,
  type StatementRow,
} from '../store/statement.ts'
import type { LedgerDb } from '../store/tables.ts'
import { findFirstSince } from './find-first-since.ts'
import type { OpenRange } from './open-range.ts'
import { readInSlices, type SlicedPage } from './read-in-slices.ts'

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
