import { type RawBuilder, sql } from 'kysely'
import { RUN_CAPS, type RunCapName } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import { RUN_TAG } from '../model/run.ts'
import { type PageBefore, unionOfKinds } from './sql.ts'
import { type AtomicStatement, changeOne, type SqlStore, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredRun = Row<'runs'>

export const findRun = (db: LedgerDb, account: number, id: string): Promise<StoredRun | undefined> =>
  db.selectFrom('runs').selectAll().where('account', '=', account).where('id', '=', id).executeTakeFirst()

export const findRunByRow = (db: LedgerDb, row: number): Promise<StoredRun | undefined> =>
  db.selectFrom('runs').selectAll().where('row', '=', row).executeTakeFirst()

interface NewRun extends Pick<StoredRun, 'account' | 'id' | 'parent' | 'ends_at' | 'opened_at' | 'person'> {
  readonly amounts: Readonly<Partial<Record<RunCapName, bigint>>>
}

/** Of requests that begin the same run at once, one writes it. */
export const runInsert = ({ account, id, parent, ends_at, opened_at, person, amounts }: NewRun): AtomicStatement =>
  statement(
    `INSERT INTO runs (account, id, parent, max_nano, max_requests, max_tokens, ends_at, opened_at, person)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, id) DO NOTHING`,
    ...[account, id, parent, amounts.total ?? null, amounts.requests ?? null, amounts.tokens ?? null],
    ...[ends_at, opened_at, person],
  )

/** The run of a CI job, with its terms. It changes nothing where the run exists already. */
export const jobRunInsert = (run: Omit<NewRun, 'parent'> & Pick<StoredRun, 'key' | 'tags'>): AtomicStatement =>
  changeOne(
    `INSERT INTO runs (account, id, max_nano, max_requests, max_tokens, ends_at, opened_at, person, key, tags)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, id) DO NOTHING`,
    ...[run.account, run.id, run.amounts.total ?? null, run.amounts.requests ?? null, run.amounts.tokens ?? null],
    ...[run.ends_at, run.opened_at, run.person, run.key, run.tags],
  )

/** The runs of an account; with a person, those that their keys began. The newest first, each with the id of the run around it. */
export const listRuns = (
  db: LedgerDb,
  { account, person }: { readonly account: number; readonly person?: number | undefined },
  { before, limit }: PageBefore,
): Promise<(StoredRun & { parent_id: string | null })[]> =>
  db
    .selectFrom('runs')
    .selectAll('runs')
    .select(sql<string | null>`(SELECT id FROM runs AS outer_one WHERE outer_one.row = runs.parent)`.as('parent_id'))
    .where('runs.row', '<', before)
    .where(
      person === undefined
        ? sql<boolean>`account = ${account}`
        : sql<boolean>`person = ${person} AND +account = ${account}`,
    )
    .orderBy('runs.row', 'desc')
    .limit(limit)
    .execute()

/** The runs directly inside these, oldest first. */
export const listRunsInside = (db: LedgerDb, parents: readonly number[], limit: number): Promise<StoredRun[]> =>
  db.selectFrom('runs').selectAll().where('parent', 'in', parents).orderBy('row').limit(limit).execute()

/** So many rows are looked at in one pass. */
const RUNS_AT_ONCE = 1000

/**
 * Deletes runs that ended before, where all runs around them did so too: what a run has used is that of the runs inside it as well.
 * Those inside a run go first, and the newest stays, because SQLite would give its row again. Each pass looks at some of the runs,
 * wherever they are: many that have ended in a run that is open still would otherwise be looked at in each pass.
 */
const FORGET_RUNS = `DELETE FROM runs WHERE row IN (
  WITH slice AS MATERIALIZED (SELECT (SELECT MIN(row) FROM runs) + abs(random())
    % (((SELECT MAX(row) FROM runs) - (SELECT MIN(row) FROM runs)) / ${RUNS_AT_ONCE} + 1) * ${RUNS_AT_ONCE} AS first)
  SELECT runs.row FROM slice CROSS JOIN runs ON runs.row >= slice.first AND runs.row < slice.first + ${RUNS_AT_ONCE}
    WHERE runs.ends_at < ? AND NOT EXISTS (SELECT 1 FROM runs AS inside WHERE inside.parent = runs.row)
      AND runs.row < (SELECT MAX(row) FROM runs)
      AND NOT EXISTS (WITH RECURSIVE around (parent, ends_at) AS (
          SELECT parent, ends_at FROM runs AS outer_one WHERE outer_one.row = runs.parent
          UNION ALL SELECT next.parent, next.ends_at FROM around CROSS JOIN runs AS next ON next.row = around.parent)
        SELECT 1 FROM around WHERE around.ends_at >= ?))`

export const forgetRuns = (file: Pick<SqlStore, 'all'>, endedBefore: number): Promise<unknown> =>
  file.all(FORGET_RUNS, [endedBefore, endedBefore])

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
  const summed = await sql<TotalsRow & { tag: string }>`SELECT tag, ${SUMS}
    FROM (${endedOf(account, sql`receipt_tags.tag IN (${sql.join(tags)})`, since)}) AS ended GROUP BY tag`.execute(db)
  return summed.rows.map(({ tag, ...totals }) => ({ tag, ...totalsOf(totals) }))
}

/** The same of a run and all runs inside it, however many. */
export async function sumTree(
  db: LedgerDb,
  { account, run, since }: { account: number; run: number; since: number },
): Promise<Omit<RunTotals, 'tag'>> {
  const isInside = sql`receipt_tags.tag IN (SELECT ${RUN_TAG} || ':' || id FROM inside)`
  const summed = await sql<TotalsRow>`WITH RECURSIVE inside (row, id) AS (
      SELECT row, id FROM runs WHERE row = ${run}
      UNION ALL SELECT runs.row, runs.id FROM inside CROSS JOIN runs ON runs.parent = inside.row)
    SELECT ${SUMS} FROM (${endedOf(account, isInside, since)}) AS ended`.execute(db)
  return totalsOf(summed.rows[0]!)
}

interface TotalsRow {
  readonly requests: bigint
  readonly tokens: bigint | null
  readonly charge_nano: bigint | null
}

const SUMS = sql`COUNT(*) AS requests, SUM(charge_nano) AS charge_nano, SUM(tokens) AS tokens`

const totalsOf = ({ requests, tokens, charge_nano }: TotalsRow) => ({
  ...{ charge_nano: BigInt(charge_nano ?? 0), requests: Number(requests), tokens: Number(tokens ?? 0) },
})

function endedOf(account: number, isAsked: RawBuilder<unknown>, since: number) {
  // Receipts have an index by their movement for each kind of key.
  const ofKind = (kind: KeyKind) => sql`
    SELECT receipt_tags.tag AS tag, charge_nano, uncached_input + cached_input + cache_write + output AS tokens
      FROM receipt_tags CROSS JOIN receipts ON receipts.account = receipt_tags.account
        AND receipts.movement = receipt_tags.movement AND receipts.kind = ${sql.lit(kind)}
      WHERE receipt_tags.account = ${account} AND ${isAsked} AND receipts.state = 'settled'
        AND receipts.opened_at >= ${since}`
  return unionOfKinds(ofKind)
}

export const listCountersOfRuns = (db: LedgerDb, account: number, rows: readonly number[]) =>
  db
    .selectFrom('spend_counters')
    .select(['subject', 'bound_nano', 'spent_nano', 'held_nano'])
    .where('account', '=', account)
    .where(
      'subject',
      'in',
      rows.flatMap((row) => Object.keys(RUN_CAPS).map((name) => `cap:run:${row}:${name}`)),
    )
    .execute()
