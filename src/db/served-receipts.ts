import { sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import {
  type ClosedServed,
  LANE_SLOT_MS,
  type LaneCalls,
  type LaneLatency,
  latencyStep,
  type ModelMeasured,
  type ServedLatency,
} from './content/served-totals.ts'
import type { UsageSums } from './content/usage-totals.ts'
import { QUARTER_MS } from './receipts.ts'
import { eachOf, isOfKind, listRows, unionOfKinds } from './sql.ts'
import type { LedgerDb } from './tables.ts'

/** Receipts of one account after a movement, up to another one, which is fixed so that several queries see the same. */
export interface ReceiptSlice {
  readonly account: number
  readonly after: number
  readonly upTo: number
}

/** Where a slice ends: the last receipt of an account that it has, and how many it has. */
export interface SliceEnd {
  readonly account: number
  readonly movement: number
  readonly closed_at: number
  readonly receipts: number
}

const NEXT = (kind: KeyKind, limit: number) => sql`SELECT * FROM (SELECT movement, closed_at FROM receipts
    WHERE receipts.account = slices.account AND ${isOfKind(kind)} AND movement > slices.after
    ORDER BY movement LIMIT ${limit}) AS next`

/** The ends of the next slices of accounts, of at most so many receipts each; accounts without a new receipt are left out. */
export async function findSliceEnds(
  db: LedgerDb,
  slices: readonly { readonly account: number; readonly after: number }[],
  receiptsOfEach: number,
): Promise<SliceEnd[]> {
  const list = JSON.stringify(slices.map(({ account, after }) => [account, after]))
  const next = sql`SELECT movement, closed_at FROM (${unionOfKinds((kind) => NEXT(kind, receiptsOfEach))}) AS of_kinds
    ORDER BY movement LIMIT ${receiptsOfEach}`
  const query = sql<{ account: number; movement: number | null; receipts: number }>`WITH slices AS (
      SELECT CAST(value ->> 0 AS BIGINT) AS account, CAST(value ->> 1 AS BIGINT) AS after FROM json_each(${list})
    )
    SELECT account, (SELECT MAX(movement) FROM (${next}) AS next_ones) AS movement,
        (SELECT COUNT(*) FROM (${next}) AS next_ones) AS receipts
      FROM slices`
  const found = (await listRows(db, query)).flatMap(({ movement, ...end }) =>
    movement === null ? [] : [{ ...end, movement }],
  )
  if (found.length === 0) return []
  const ends = JSON.stringify(found.map(({ account, movement }) => [account, movement]))
  const ofKind = (kind: KeyKind) => sql`SELECT receipts.account AS account, closed_at FROM json_each(${ends}) AS ends
    CROSS JOIN receipts ON receipts.account = CAST(ends.value ->> 0 AS BIGINT) AND ${isOfKind(kind)}
      AND movement = CAST(ends.value ->> 1 AS BIGINT)`
  const times = await listRows(db, sql<{ account: number; closed_at: number }>`${unionOfKinds(ofKind)}`)
  const timeOf = new Map(times.map((end) => [end.account, end.closed_at]))
  return found.map((end) => ({ ...end, closed_at: timeOf.get(end.account)! }))
}

/** Every receipt of the slices, by the index of its kind. */
const receiptsIn = (slices: readonly ReceiptSlice[]) => {
  const list = JSON.stringify(slices.map(({ account, after, upTo }) => [account, after, upTo]))
  return (select: ReturnType<typeof sql>, more = sql``) =>
    unionOfKinds(
      (kind) => sql`SELECT ${select} FROM json_each(${list}) AS slices CROSS JOIN receipts
        ON ${eachOf(sql`receipts.account = CAST(slices.value ->> 0 AS BIGINT) AND ${isOfKind(kind)}
          AND movement > CAST(slices.value ->> 1 AS BIGINT) AND movement <= CAST(slices.value ->> 2 AS BIGINT) ${more}`)}`,
    )
}

const QUARTER = sql`closed_at / ${sql.lit(QUARTER_MS)}`
const LANES = sql`(SELECT COUNT(DISTINCT value ->> 'lane') FROM json_each(attempts))`
const COST = sql`(SELECT SUM(CAST(value ->> 'cost' AS BIGINT)) FROM json_each(attempts))`

/** The receipts of one account and model that closed in one quarter of an hour. */
export interface ServedRow extends Omit<ClosedServed, 'account'> {
  readonly account: number
}

/** Sums receipts, so that only one row for each account, model and quarter crosses to this thread. */
export function sumServedReceipts(db: LedgerDb, slices: readonly ReceiptSlice[]): Promise<ServedRow[]> {
  const each = sql`receipts.account AS account, ${QUARTER} AS quarter, model, kind, state, outcome, charge_nano,
    uncached_input, cached_input, cache_write, output, ${LANES} AS lanes, ${COST} AS cost_nano`
  return listRows(
    db,
    sql<ServedRow>`SELECT account, quarter, model, COUNT(*) AS requests,
      COUNT(*) FILTER (WHERE outcome <> 'completed') AS failed, COUNT(*) FILTER (WHERE lanes > 1) AS failovers,
      COUNT(*) FILTER (WHERE state = 'settled' AND cost_nano IS NULL) AS unpriced,
      COALESCE(SUM(uncached_input), 0) + COALESCE(SUM(cached_input), 0) + COALESCE(SUM(cache_write), 0) AS input,
      COALESCE(SUM(output), 0) AS output,
      COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'wallet'), 0) AS wallet_nano,
      COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'builder'), 0) AS plan_nano,
      COALESCE(SUM(cost_nano) FILTER (WHERE kind = 'wallet'), 0) AS cost_nano,
      COALESCE(SUM(cost_nano) FILTER (WHERE kind = 'builder'), 0) AS plan_cost_nano
    FROM (${receiptsIn(slices)(each)}) AS closed GROUP BY account, quarter, model`,
  )
}

/** How many completed requests of the slices took how long, rounded down to the ladder. */
export function sumReceiptLatencies(db: LedgerDb, slices: readonly ReceiptSlice[]): Promise<ServedLatency[]> {
  const of = receiptsIn(slices)
  const times = (measure: 'first' | 'total', column: 'first_byte_ms' | 'total_ms') => {
    const whole = `CAST(${column} AS BIGINT)`
    const each = sql`${QUARTER} AS quarter, ${sql.lit(measure)} AS measure, ${sql.raw(latencyStep(whole))} AS ms`
    return of(each, sql`AND outcome = 'completed' AND ${sql.ref(column)} IS NOT NULL`)
  }
  return listRows(
    db,
    sql<ServedLatency>`SELECT quarter, measure, ms, COUNT(*) AS requests
      FROM (${times('first', 'first_byte_ms')} UNION ALL ${times('total', 'total_ms')}) AS times GROUP BY quarter, measure, ms`,
  )
}

/** Shorter answers, and those that come all at once, say nothing about speed. */
const TIMED_TOKENS_MIN = 16
const TIMED_MS_MIN = 100
const RATE_MAX = 10_000

/**
 * How requests ended that closed since then, and the speed of the streamed answers among them. A request that its client left,
 * or that this server cut off, says nothing about its model.
 */
export function sumModelMeasures(
  db: LedgerDb,
  slices: readonly ReceiptSlice[],
  since: number,
): Promise<ModelMeasured[]> {
  const of = receiptsIn(slices)
  const measured = (measure: ModelMeasured['measure'], value: string, more: ReturnType<typeof sql>) =>
    of(
      sql`closed_at - closed_at % ${sql.lit(QUARTER_MS)} AS slot, model, ${sql.lit(measure)} AS measure, ${sql.raw(value)} AS value`,
      sql`AND closed_at >= ${since} AND ${more}`,
    )
  const [first, streamed] = ['CAST(first_byte_ms AS BIGINT)', 'CAST(total_ms - first_byte_ms AS BIGINT)']
  const timed = sql`outcome = 'completed' AND output >= ${sql.lit(TIMED_TOKENS_MIN)}
    AND total_ms - first_byte_ms >= ${sql.lit(TIMED_MS_MIN)}`
  const rate = `output * 1000 / ${streamed}`
  const failed = "CASE WHEN outcome = 'completed' THEN 0 ELSE 1 END"
  return listRows(
    db,
    sql<ModelMeasured>`SELECT slot, model, measure, value, COUNT(*) AS requests FROM (
        ${measured('failed', failed, sql`outcome IN ('completed', 'upstream_failed', 'internal_error', 'recovered')`)}
        UNION ALL ${measured('first', latencyStep(first), timed)}
        UNION ALL ${measured('rate', `CASE WHEN ${rate} < ${RATE_MAX} THEN ${rate} ELSE ${RATE_MAX} END`, timed)}
      ) AS measured GROUP BY slot, model, measure, value`,
  )
}

/** Calls that say nothing about their lane: stopped from our side, or refused because of the request. */
const NOT_OF_THE_LANE: ReadonlySet<string> = new Set([
  ...['client-gone', 'draining', 'ledger-gone', 'cancelled', 'withheld', 'stopped'],
  ...['rejected', 'too-long', 'too-large', 'unsupported-field', 'filtered'],
])

const callsIn = (slices: readonly ReceiptSlice[], since: number) => {
  const each = sql`closed_at - closed_at % ${sql.lit(LANE_SLOT_MS)} AS slot, closed_at, attempts`
  return sql`SELECT slot, closed_at, value ->> 'lane' AS lane, value ->> 'outcome' AS outcome,
      CAST(value ->> 'status' AS BIGINT) AS status, CAST(CAST(value ->> 'ms' AS DOUBLE PRECISION) AS BIGINT) AS ms
    FROM (${receiptsIn(slices)(each, sql`AND closed_at >= ${since}`)}) AS closed CROSS JOIN json_each(attempts) AS each_call`
}

interface CallsOfOutcome {
  readonly slot: number
  readonly lane: string
  readonly outcome: string
  readonly status: number | null
  readonly calls: number
  readonly last_at: number
}

/** The calls of lanes of receipts that closed since then: how many, the newest failed one, and the times of the others. */
export async function sumLaneCalls(
  db: LedgerDb,
  slices: readonly ReceiptSlice[],
  since: number,
): Promise<{ lanes: LaneCalls[]; latencies: LaneLatency[] }> {
  const calls = callsIn(slices, since)
  const counted = sql<CallsOfOutcome>`SELECT slot, lane, outcome, status, COUNT(*) AS calls, MAX(closed_at) AS last_at
    FROM (${calls}) AS calls GROUP BY slot, lane, outcome, status`
  const timed = sql<LaneLatency>`SELECT slot, lane, ${sql.raw(latencyStep('ms'))} AS ms, COUNT(*) AS calls
      FROM (${calls}) AS calls WHERE outcome = 'finished' GROUP BY slot, lane, ${sql.raw(latencyStep('ms'))}`
  return { lanes: lanesOf(await listRows(db, counted)), latencies: await listRows(db, timed) }
}

function lanesOf(rows: readonly CallsOfOutcome[]): LaneCalls[] {
  const lanes = new Map<string, LaneCalls>()
  for (const { slot, lane, outcome, status, calls, last_at } of rows) {
    if (NOT_OF_THE_LANE.has(outcome)) continue
    const name = `${slot} ${lane}`
    const known = lanes.get(name) ?? { slot, lane, succeeded: 0, failed: 0, failed_at: null, error: null, status: null }
    if (outcome === 'finished') {
      lanes.set(name, { ...known, succeeded: known.succeeded + calls })
      continue
    }
    const isNewer = known.failed_at === null || last_at > known.failed_at
    const newest = isNewer ? { failed_at: last_at, error: outcome, status } : {}
    lanes.set(name, { ...known, ...newest, failed: known.failed + calls })
  }
  return [...lanes.values()]
}

/** The usage of one slice by quarter of an hour and model, from the receipts themselves. */
export function sumUsageOfReceipts(db: LedgerDb, slice: ReceiptSlice) {
  const each = sql`${QUARTER} AS quarter, model, kind, outcome, charge_nano, uncached_input, cached_input, cache_write,
    output, reasoning`
  return listRows(
    db,
    sql<UsageSums & { readonly quarter: number; readonly model: string }>`SELECT quarter, model, COUNT(*) AS requests,
      COUNT(*) FILTER (WHERE outcome <> 'completed') AS failed, COALESCE(SUM(uncached_input), 0) AS uncached_input,
      COALESCE(SUM(cached_input), 0) AS cached_input, COALESCE(SUM(cache_write), 0) AS cache_write,
      COALESCE(SUM(output), 0) AS output, COALESCE(SUM(reasoning), 0) AS reasoning,
      COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'wallet'), 0) AS wallet_nano,
      COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'builder'), 0) AS plan_nano
    FROM (${receiptsIn([slice])(each)}) AS closed GROUP BY quarter, model`,
  )
}
