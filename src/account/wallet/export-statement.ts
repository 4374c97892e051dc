import type { z } from 'zod'
import type { statementExportQuery } from '../../contract/wallet.ts'
import { csvRow } from '../../lib/csv-row.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { MovementRange } from '../../store/statement.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome } from '../outcome.ts'
import { readOpenRange } from '../usage/day-range.ts'
import { movementsIn, readStatementPage, type StatementLine, statementLine } from './wallet-statement.ts'

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
