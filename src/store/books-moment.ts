import { sql } from 'kysely'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerDb } from './tables.ts'

/** All balances and open holds as they were at one moment of a running ledger, and the last rows there were then. */
export interface BooksMoment {
  readonly buckets: readonly {
    readonly row: number
    readonly account: AccountRow | undefined
    readonly unit: string
    readonly kind: string
    readonly subject: string
    readonly posted: bigint
    readonly held: bigint
  }[]
  readonly open: readonly { readonly row: number; readonly hold: bigint; readonly on: readonly number[] }[]
  readonly accounts: number
  readonly lastReceipt: number
  readonly lastTransfer: number
}

interface MomentRow {
  what: 'bucket' | 'open' | 'accounts' | 'last receipt' | 'last transfer'
  row: number
  account: number | null
  unit: string
  kind: string
  subject: string
  posted_nano: bigint
  held_nano: bigint
  buckets: string
}

/** One statement, because between two of them the thread serves others: a settle would be in one half only. */
const MOMENT = `
  SELECT 'bucket' AS what, row, account, unit, kind, subject, posted_nano, held_nano, '' AS buckets FROM buckets
  UNION ALL SELECT 'open', row, NULL, '', '', '', 0, hold_nano, buckets FROM receipts WHERE state = 'open'
  UNION ALL SELECT 'accounts', COUNT(*), NULL, '', '', '', 0, 0, '' FROM accounts
  UNION ALL SELECT 'last receipt', COALESCE(MAX(row), 0), NULL, '', '', '', 0, 0, '' FROM receipts
  UNION ALL SELECT 'last transfer', COALESCE(MAX(row), 0), NULL, '', '', '', 0, 0, '' FROM transfers`

export async function readBooksMoment(db: LedgerDb): Promise<BooksMoment> {
  const { rows } = await sql<MomentRow>`${sql.raw(MOMENT)}`.execute(db)
  const rowOf = (what: MomentRow['what']) => rows.find((row) => row.what === what)?.row ?? 0
  return {
    buckets: rows
      .filter(({ what }) => what === 'bucket')
      .map(({ row, account, unit, kind, subject, posted_nano, held_nano }) => ({
        ...{ row, unit, kind, subject },
        account: (account ?? undefined) as AccountRow | undefined,
        posted: posted_nano,
        held: held_nano,
      })),
    open: rows
      .filter(({ what }) => what === 'open')
      .map(({ row, held_nano, buckets }) => ({ row, hold: held_nano, on: JSON.parse(buckets) as number[] })),
    accounts: rowOf('accounts'),
    lastReceipt: rowOf('last receipt'),
    lastTransfer: rowOf('last transfer'),
  }
}
