import type { z } from 'zod'
import type { movement, statementExportQuery, statementQuery } from '../contract/owner.ts'
import type { PageQuery, pageOf } from '../contract/values.ts'
import {
  findLastMovement,
  findMovementTime,
  findSliceStart,
  listStatement,
  listTransfersOfAccount,
  type MovementRange,
  type StatementKind,
  type StatementRow,
  type StoredTransfer,
} from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { csvRow } from '../lib/text.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount } from './accounts.ts'
import { type OpenRange, readOpenRange } from './date-ranges.ts'
import { findFirstSince, readInSlices, type SlicedPage } from './find-movements.ts'
import { done, type Outcome } from './outcome.ts'
import { cutPage, isoTime, type Page, readCursor, writeCursor } from './values.ts'

type StatementLine = z.output<typeof movement>
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

/** Lines of a wallet's statement, newest first, by their numbers. Requests that cost nothing are no lines. */
const readStatementPage = (
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
async function movementsIn(db: LedgerDb, account: AccountRow, days: OpenRange): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findMovementTime(db, account, movement)
  const firstSince = async (moment: number | undefined, otherwise: number) =>
    moment === undefined ? otherwise : await findFirstSince({ moment, end, timeOf })
  return { from: await firstSince(days.from, 0), before: await firstSince(days.before, end) }
}

interface WalletEntry {
  readonly kind: StoredTransfer['kind']
  readonly amount: string
  readonly ref: string
  readonly reason: string
  readonly at: string
}

/** What the operator has put in and taken out, newest first. What requests cost is on their receipts. */
export async function walletEntries(
  deps: { readonly db: LedgerDb },
  { account, after, limit }: PageQuery & OneAccount,
): Promise<Outcome<Page<WalletEntry>>> {
  const resolved = await resolveAccount(deps, account)
  if (resolved.kind === 'refused') return resolved
  const before = readCursor(after) ?? Number.MAX_SAFE_INTEGER
  if (typeof before !== 'number') return before
  const read = await listTransfersOfAccount(deps.db, resolved.account.row, { before, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  return done({ items: rows.map(entryOf), next: writeCursor(next) })
}

const entryOf = (transfer: StoredTransfer): WalletEntry => ({
  kind: transfer.kind,
  amount: formatUsd(transfer.amount_nano),
  ref: transfer.ref,
  reason: transfer.reason,
  at: isoTime(transfer.at),
})

const COLUMNS = [
  'movement',
  'time',
  'kind',
  'amount',
  'balance',
  'currency',
  'ref',
  'reason',
  'model',
  'key',
  'key_name',
]

/** Few enough that neither this thread nor the one of the books is kept from others for long. */
const SLICE_LINES = 200

type ExportQuery = z.output<typeof statementExportQuery>

/** The whole statement as CSV, newest first, in pieces that are read while they are sent. */
export async function exportStatement(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  { kind, ...days }: ExportQuery,
): Promise<Outcome<AsyncGenerator<string>>> {
  const range = readOpenRange(days)
  if (range.kind === 'refused') return range
  return done(piecesOf(db, account, kind, await movementsIn(db, account, range.value)))
}

async function* piecesOf(
  db: LedgerDb,
  account: AccountRow,
  kind: ExportQuery['kind'],
  range: MovementRange,
): AsyncGenerator<string> {
  yield csvRow(COLUMNS)
  for (let before: number | null = range.before; before !== null; ) {
    const page = await readStatementPage(db, account, { from: range.from, before, kind, limit: SLICE_LINES })
    if (page.rows.length > 0) yield page.rows.map((row) => rowOf(statementLine(row))).join('')
    before = page.next
  }
}

const rowOf = ({ movement, at, kind, amount, balance, ref, reason, model, key }: StatementLine): string =>
  csvRow([
    ...[movement, at, kind, amount, balance ?? '', 'USD'],
    ...[ref, reason, model ?? '', key?.id ?? '', key?.name ?? ''],
  ])
