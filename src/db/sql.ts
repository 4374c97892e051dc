import { type RawBuilder, sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import type { LedgerDb } from './tables.ts'

/** A page in rising order, after the row of the last page's last entry. */
export interface PageAfter {
  readonly after: number
  readonly limit: number
}

/** A page in falling order, before the row of the last page's last entry. */
export interface PageBefore {
  readonly before: number
  readonly limit: number
}

/** The indexes of movements are partial, by these. A query without one of them scans the whole account. */
export const RECEIPT_KINDS = ['wallet', 'builder'] as const
export const TRANSFER_UNITS = ['usd', 'quota', 'cap'] as const

/** A literal, because SQLite does not use a partial index for a parameter. */
export const isOfKind = (kind: KeyKind) => sql<boolean>`receipts.kind = ${sql.lit(kind)}`

/** One query for each kind of receipts, so that each uses the index of its kind. */
export const unionOfKinds = (
  queryOf: (kind: KeyKind) => RawBuilder<unknown>,
  kinds: readonly KeyKind[] = RECEIPT_KINDS,
) => sql.join(kinds.map(queryOf), sql` UNION ALL `)

/**
 * The same in the falling order of their movements. Each part names the order too: PostgreSQL merges parts that are sorted, and
 * otherwise reads all of them.
 */
export const newestOfKinds = (
  queryOf: (kind: KeyKind) => RawBuilder<unknown>,
  kinds: readonly KeyKind[] = RECEIPT_KINDS,
) => sql`${unionOfKinds((kind) => newestFirst(queryOf(kind), `${kind}_ones`), kinds)} ORDER BY movement DESC`

export const newestFirst = (query: RawBuilder<unknown>, name: string) =>
  sql`SELECT * FROM (${query} ORDER BY movement DESC) AS ${sql.raw(name)}`

/**
 * The condition of a CROSS JOIN that finds a few rows of a large table for each row before it. SQLite joins in this order anyway. On
 * PostgreSQL it becomes a LATERAL: it does not know how short a list is, and would read the whole table.
 */
export const eachOf = (condition: RawBuilder<unknown>) => sql`/*each*/${condition}/*end*/`

/** Runs a query that is written in SQL. */
export const listRows = async <Row>(db: LedgerDb, query: RawBuilder<Row>): Promise<Row[]> =>
  (await query.execute(db)).rows
