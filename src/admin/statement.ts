import type { z } from 'zod'
import type { movement, statementExportQuery, statementQuery } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import {
  findLastMovement,
  findMovementTime,
  findSliceStart,
  listStatement,
  listTransfersOfAccount,
  type MovementRange,
  type StatementKind,
  type StatementRow,
} from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { csvRow } from '../lib/text.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount } from './accounts.ts'
import { type OpenRange, readOpenRange } from './date-ranges.ts'
import { done, ifDone, type Outcome } from './outcome.ts'
import type { DbService } from './services.ts'
import {
  findFirstSince,
  isoTime,
  NEWEST,
  type Page,
  readCursor,
  readInSlices,
  readPage,
  writeCursor,
} from './values.ts'

type StatementLine = z.output<typeof movement>

/** The movements of a wallet, newest first, each with the balance after it. */
export async function walletStatement(
  { db }: DbService,
  account: AccountRow,
  { after, limit, kind, ...days }: z.output<typeof statementQuery>,
): Promise<Outcome<Page<StatementLine>>> {
  const cursor = readCursor(after) ?? NEWEST
  if (typeof cursor !== 'number') return cursor
  const range = readOpenRange(days)
  if (range.kind === 'refused') return range
  const { from, before } = await movementsIn(db, account, range.value)
  const page = await readStatementPage(db, account, { from, before: Math.min(before, cursor), kind, limit })
  return done({ items: page.rows.map(statementLine), next: writeCursor(page.next) })
}

const statementLine = (row: StatementRow): StatementLine => ({
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

/** Statement lines by their numbers, newest first, without requests that cost nothing. */
const readStatementPage = (
  db: LedgerDb,
  account: AccountRow,
  { kind, ...page }: MovementRange & { readonly kind: StatementKind | undefined; readonly limit: number },
) =>
  readInSlices<StatementRow>({
    ...page,
    numberOf: ({ movement }) => movement,
    // Transfers are few and have their own index by kind, so they need no slices.
    sliceStart: async (slice) =>
      kind === undefined || kind === 'charge'
        ? findSliceStart(db, account, { ...slice, kinds: ['wallet'] })
        : undefined,
    list: (slice) => listStatement(db, account, { ...slice, kind }),
  })

/** The numbers of the wallet's movements in these days. */
async function movementsIn(db: LedgerDb, account: AccountRow, days: OpenRange): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findMovementTime(db, account, movement)
  return {
    from: days.from === undefined ? 0 : await findFirstSince(days.from, end, timeOf),
    before: days.before === undefined ? end : await findFirstSince(days.before, end, timeOf),
  }
}

/** Credits, refunds and adjustments, newest first. Charges are on the receipts of requests. */
export const walletEntries = ({ db }: DbService, { account, ...page }: PageQuery & OneAccount) =>
  ifDone(resolveAccount({ db }, account), (of) =>
    readPage(page, {
      first: NEWEST,
      read: (before, limit) => listTransfersOfAccount(db, of.row, { before, limit }),
      numberOf: ({ row }) => row,
      view: ({ kind, amount_nano, ref, reason, at }) => ({
        ...{ kind, amount: formatUsd(amount_nano), ref, reason, at: isoTime(at) },
      }),
    }),
  )

const COLUMNS = [
  ...['movement', 'time', 'kind', 'amount', 'balance', 'currency'],
  ...['ref', 'reason', 'model', 'key', 'key_name'],
]

/** Few enough that neither this thread nor the database's is blocked for long. */
const SLICE_LINES = 200

/** The whole statement as CSV, newest first, read while it is sent. */
export async function exportStatement(
  { db }: DbService,
  account: AccountRow,
  { kind, ...days }: z.output<typeof statementExportQuery>,
): Promise<Outcome<AsyncGenerator<string>>> {
  const range = readOpenRange(days)
  if (range.kind === 'refused') return range
  return done(csvPieces(db, account, kind, await movementsIn(db, account, range.value)))
}

async function* csvPieces(
  db: LedgerDb,
  account: AccountRow,
  kind: StatementKind | undefined,
  range: MovementRange,
): AsyncGenerator<string> {
  yield csvRow(COLUMNS)
  for (let before: number | null = range.before; before !== null; ) {
    const page = await readStatementPage(db, account, { from: range.from, before, kind, limit: SLICE_LINES })
    if (page.rows.length > 0) yield page.rows.map((row) => csvLine(statementLine(row))).join('')
    before = page.next
  }
}

const csvLine = ({ movement, at, kind, amount, balance, ref, reason, model, key }: StatementLine): string =>
  csvRow([
    ...[movement, at, kind, amount, balance ?? '', 'USD'],
    ...[ref, reason, model ?? '', key?.id ?? '', key?.name ?? ''],
  ])
