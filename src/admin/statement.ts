import type { z } from 'zod'
import type { movement, statementExportQuery, statementQuery } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import {
  countWalletRequests,
  findLastMovement,
  findMovementAt,
  findMovementTime,
  findSliceStart,
  listLastMoves,
  listStatement,
  listTransfersOfAccount,
  type MovementRange,
  type StatementKind,
  type StatementRow,
} from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { csvRow } from '../lib/text.ts'
import { beginOfDay, dayAt, openTimeZone, type TimeZone } from '../lib/time-zone.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount } from './accounts.ts'
import { type OpenRange, readOpenRange, unknownZone } from './date-ranges.ts'
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
  { after, limit, ...filters }: z.output<typeof statementQuery>,
): Promise<Outcome<Page<StatementLine>>> {
  const cursor = readCursor(after) ?? NEWEST
  if (typeof cursor !== 'number') return cursor
  const scoped = await scopeOf(db, account, filters)
  if (scoped.kind === 'refused') return scoped
  const { range, readLines } = scoped.value
  const { lines, next } = await readLines({ ...range, before: Math.min(range.before, cursor), limit })
  return done({ items: lines, next: writeCursor(next) })
}

interface StatementPage extends MovementRange {
  readonly limit: number
}

interface Lines {
  readonly lines: StatementLine[]
  /** The next page ends before this movement. */
  readonly next: number | null
}

/** The movements that the filters are about, and how to read a page of them. */
interface StatementScope {
  readonly range: MovementRange
  readonly readLines: (page: StatementPage) => Promise<Lines>
}

async function scopeOf(
  db: LedgerDb,
  account: AccountRow,
  { kind, by, ...days }: z.output<typeof statementExportQuery>,
): Promise<Outcome<StatementScope>> {
  const open = readOpenRange(days)
  if (open.kind === 'refused') return open
  const zone = openTimeZone(days.zone ?? 'UTC')
  if (zone === undefined) return unknownZone(days.zone!)
  const range = await movementsIn(db, account, open.value)
  const isByDay = by === 'day' && (kind === undefined || kind === 'charge')
  return done({
    range,
    readLines: async (page) => {
      if (isByDay) return readByDay(db, account, { ...page, zone, chargesOnly: kind === 'charge' })
      const { rows, next } = await readStatementPage(db, account, { ...page, kind })
      return { lines: rows.map(statementLine), next }
    },
  })
}

/** After this many days without a charge or transfers that are left out, a page ends even if it is not full. */
const STEPS_BEYOND = 100

/**
 * Goes back from movement to movement: a transfer is a line, and the requests before it are one, back to the begin of their day
 * or to the transfer before them. What they cost is the difference of the balances, so they need not be read.
 */
async function readByDay(
  db: LedgerDb,
  account: AccountRow,
  {
    from,
    before,
    limit,
    zone,
    chargesOnly,
  }: StatementPage & { readonly zone: TimeZone; readonly chargesOnly: boolean },
): Promise<Lines> {
  const lines: StatementLine[] = []
  let moves = await listLastMoves(db, account, before)
  for (let step = 0; step < limit + STEPS_BEYOND; step++) {
    const [last, other] = moves
    if (last === undefined || last.movement < from) return { lines, next: null }
    if (lines.length === limit) return { lines, next: last.movement + 1 }
    const isCharge = last.kind === 'charge'
    const day = dayAt(zone, last.corrected)
    const start = isCharge
      ? Math.max(
          from,
          (other?.movement ?? 0) + 1,
          await firstMovementSince(db, account, { moment: beginOfDay(zone, day), end: last.movement }),
        )
      : last.movement
    moves = await listLastMoves(db, account, start)
    const amount = last.balance_nano - (moves[0]?.balance_nano ?? 0n)
    if (isCharge ? amount === 0n : chargesOnly) continue
    lines.push({
      ...{ movement: last.movement, at: isoTime(last.at), kind: isCharge ? 'charges' : last.kind },
      ...{ amount: formatUsd(amount), balance: formatUsd(last.balance_nano) },
      ref: isCharge ? isoTime(day).slice(0, 10) : last.ref,
      ...{ reason: last.reason, model: null, key: null },
      requests: isCharge ? await countWalletRequests(db, account, { from: start, before: last.movement + 1 }) : null,
    })
  }
  return { lines, next: (moves[0]?.movement ?? 0) + 1 }
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
  requests: null,
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

/** The numbers of the account's movements in these days. */
export async function movementsIn(db: LedgerDb, account: AccountRow, days: OpenRange): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  return {
    from: days.from === undefined ? 0 : await firstMovementSince(db, account, { moment: days.from, end }),
    before: days.before === undefined ? end : await firstMovementSince(db, account, { moment: days.before, end }),
  }
}

/** The first movement at a moment or later, `end` if there is none before it: one query, unless ledger time was ever set back. */
async function firstMovementSince(
  db: LedgerDb,
  account: AccountRow,
  { moment, end }: { readonly moment: number; readonly end: number },
): Promise<number> {
  const before = await findMovementAt(db, account, { last: end - 1, at: moment - 1, otherwise: -1 })
  return before === -1 ? findFirstSince(moment, end, (movement) => findMovementTime(db, account, movement)) : before + 1
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
  ...['ref', 'reason', 'model', 'key', 'key_name', 'requests'],
]

/** Few enough that neither this thread nor the database's is blocked for long. */
const SLICE_LINES = 200

/** The whole statement as CSV, newest first, read while it is sent. */
export async function exportStatement(
  { db }: DbService,
  account: AccountRow,
  filters: z.output<typeof statementExportQuery>,
): Promise<Outcome<AsyncGenerator<string>>> {
  const scoped = await scopeOf(db, account, filters)
  return scoped.kind === 'refused' ? scoped : done(csvPieces(scoped.value))
}

async function* csvPieces({ range, readLines }: StatementScope): AsyncGenerator<string> {
  yield csvRow(COLUMNS)
  for (let before: number | null = range.before; before !== null; ) {
    const page = await readLines({ from: range.from, before, limit: SLICE_LINES })
    if (page.lines.length > 0) yield page.lines.map(csvLine).join('')
    before = page.next
  }
}

const csvLine = ({ movement, at, kind, amount, balance, ref, reason, model, key, requests }: StatementLine): string =>
  csvRow([
    ...[movement, at, kind, amount, balance ?? '', 'USD'],
    ...[ref, reason, model ?? '', key?.id ?? '', key?.name ?? '', requests ?? ''],
  ])
