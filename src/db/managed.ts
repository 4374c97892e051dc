import type { ManagedKind } from '../contract/managed.ts'
import { type AtomicStatement, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredManaged = Row<'managed_entries'>

const INSERT = `INSERT INTO managed_entries
  (row, kind, name, entry, ring_key, sealed, effective_from, created_at, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Fails if another change has taken the number of the row. */
export const managedInserts = (rows: readonly StoredManaged[]): AtomicStatement[] =>
  rows.map((row) =>
    statement(
      INSERT,
      ...[row.row, row.kind, row.name, row.entry, row.ring_key, row.sealed],
      ...[row.effective_from, row.created_at, row.created_by],
    ),
  )

/** The newest row of all; 0 without one. */
export async function findManagedRevision(db: LedgerDb): Promise<number> {
  const newest = await db
    .selectFrom('managed_entries')
    .select('row')
    .where('row', '>', 0)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest?.row ?? 0
}

/** The newest row of each name, retired ones included, and all rows of prices, by number. */
export const listManaged = (db: LedgerDb): Promise<StoredManaged[]> =>
  db
    .selectFrom('managed_entries')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('kind', '=', 'price'),
        eb('row', '=', (inner) =>
          inner
            .selectFrom('managed_entries as other')
            .select((other) => other.fn.max('other.row').as('row'))
            .whereRef('other.kind', '=', 'managed_entries.kind')
            .whereRef('other.name', '=', 'managed_entries.name'),
        ),
      ]),
    )
    .orderBy('row')
    .execute()

const VERSIONS_MAX = 200

/** Of one name, newest first; of a model with its prices. */
export const listManagedVersions = (db: LedgerDb, kind: ManagedKind, name: string): Promise<StoredManaged[]> =>
  db
    .selectFrom('managed_entries')
    .selectAll()
    .where('kind', 'in', kind === 'model' ? ['model', 'price'] : [kind])
    .where('name', '=', name)
    .orderBy('row', 'desc')
    .limit(VERSIONS_MAX)
    .execute()

/** The row behind the newest receipt. */
export async function findReceiptRowEnd(db: LedgerDb): Promise<number> {
  const newest = await db
    .selectFrom('receipts')
    .select('row')
    .where('row', '>', 0)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()
  return (newest?.row ?? 0) + 1
}

/** When the last request up to a row began. */
export async function findReceiptTime(db: LedgerDb, row: number): Promise<number | undefined> {
  const found = await db
    .selectFrom('receipts')
    .select('opened_at')
    .where('row', '<=', row)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.opened_at
}

export type StoredCharge = Awaited<ReturnType<typeof listChargedOf>>[number]

/** The charged requests of a model in a slice of all requests. */
export const listChargedOf = (
  db: LedgerDb,
  model: string,
  { from, before }: { readonly from: number; readonly before: number },
) =>
  db
    .selectFrom('receipts')
    .select(['account', 'opened_at', 'lane', 'charge_nano', 'asked', 'attempts'])
    .select(['uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'])
    .where('row', '>=', from)
    .where('row', '<', before)
    .where('model', '=', model)
    .where('state', '=', 'settled')
    .execute()
