import { sql } from 'kysely'
import type { RunCapName } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import { type AtomicStatement, type SqlStore, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredRun = Row<'runs'>

export const findRun = (db: LedgerDb, account: number, id: string): Promise<StoredRun | undefined> =>
  db.selectFrom('runs').selectAll().where('account', '=', account).where('id', '=', id).executeTakeFirst()

export const findRunByRow = (db: LedgerDb, row: number): Promise<StoredRun | undefined> =>
  db.selectFrom('runs').selectAll().where('row', '=', row).executeTakeFirst()

interface NewRun extends Pick<StoredRun, 'account' | 'id' | 'parent' | 'ends_at' | 'opened_at'> {
  readonly amounts: Readonly<Partial<Record<RunCapName, bigint>>>
}

/** Of requests that begin the same run at once, one writes it. */
export const runInsert = ({ account, id, parent, ends_at, opened_at, amounts }: NewRun): AtomicStatement =>
  statement(
    `INSERT INTO runs (account, id, parent, max_nano, max_requests, max_tokens, ends_at, opened_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, id) DO NOTHING`,
    ...[account, id, parent, amounts.total ?? null, amounts.requests ?? null, amounts.tokens ?? null],
    ...[ends_at, opened_at],
  )

/** The runs directly inside these, oldest first. */
export const listRunsInside = (db: LedgerDb, parents: readonly number[], limit: number): Promise<StoredRun[]> =>
  db.selectFrom('runs').selectAll().where('parent', 'in', parents).orderBy('row').limit(limit).execute()

const FORGET_RUNS = `DELETE FROM runs WHERE row IN (SELECT row FROM runs WHERE ends_at < ?
    AND NOT EXISTS (SELECT 1 FROM runs AS inside WHERE inside.parent = runs.row) ORDER BY ends_at LIMIT ?)`

/** Deletes runs that ended before; those inside a run go first. */
export const forgetRuns = (file: Pick<SqlStore, 'all'>, endedBefore: number, limit: number): Promise<unknown> =>
  file.all(FORGET_RUNS, [endedBefore, limit])

export interface RunTotals {
  readonly tag: string
  readonly requests: number
  readonly tokens: number
  readonly charge_nano: bigint
}

/** What the ended requests of runs have used since then, by their tags. */
export async function sumRuns(
  db: LedgerDb,
  { account, tags, since }: { account: number; tags: readonly string[]; since: number },
): Promise<RunTotals[]> {
  // Receipts have an index by their movement for each kind of key.
  const ofKind = (kind: KeyKind) => sql`
    SELECT receipt_tags.tag AS tag, charge_nano, uncached_input + cached_input + cache_write + output AS tokens
      FROM receipt_tags CROSS JOIN receipts ON receipts.account = receipt_tags.account
        AND receipts.movement = receipt_tags.movement AND receipts.kind = ${sql.lit(kind)}
      WHERE receipt_tags.account = ${account} AND receipt_tags.tag IN (${sql.join(tags)}) AND receipts.state = 'settled'
        AND receipts.opened_at >= ${since}`
  const summed = await sql<{ tag: string; requests: bigint; tokens: bigint; charge_nano: bigint }>`
    SELECT tag, COUNT(*) AS requests, SUM(charge_nano) AS charge_nano, SUM(tokens) AS tokens
      FROM (${ofKind('wallet')} UNION ALL ${ofKind('builder')}) AS ended GROUP BY tag`.execute(db)
  return summed.rows.map(({ tag, requests, tokens, charge_nano }) => ({
    ...{ tag, charge_nano: BigInt(charge_nano), requests: Number(requests), tokens: Number(tokens) },
  }))
}

export const listCountersOfRun = (db: LedgerDb, account: number, row: number) =>
  db
    .selectFrom('spend_counters')
    .select(['subject', 'bound_nano', 'spent_nano', 'held_nano'])
    .where('account', '=', account)
    .where(
      'subject',
      'in',
      ['total', 'requests', 'tokens'].map((name) => `cap:run:${row}:${name}`),
    )
    .execute()
