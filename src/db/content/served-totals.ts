import type { AccountId } from '../../model/ids.ts'
import { type AtomicStatement, changeRows, findRow, type SqlStore, type SqlValue } from '../sql-store.ts'
import { insertOwners, OWNER_OF } from './sealing.ts'
import type { CountedUpTo } from './usage-totals.ts'

/**
 * What the server has served, for its operators: sums per quarter of an hour, and again per day and month of UTC, of everything,
 * of each model and of each account. Sums are only ever added to, so several nodes can count at once.
 */

export const SERVED_COUNTS = ['requests', 'failed', 'failovers', 'unpriced', 'input', 'output'] as const
export const SERVED_AMOUNTS = ['wallet_nano', 'plan_nano', 'cost_nano', 'plan_cost_nano'] as const
export const SERVED_SUMS = [...SERVED_COUNTS, ...SERVED_AMOUNTS]

/**
 * `failovers`: requests for which more than one lane was called. `unpriced`: charged ones whose lane has no `cost`. `cost_nano`:
 * of requests that wallets paid, and `plan_cost_nano` of those on plans.
 */
export type ServedSums = Readonly<Record<(typeof SERVED_COUNTS)[number], number>> &
  Readonly<Record<(typeof SERVED_AMOUNTS)[number], bigint>>

/** Receipts of one account and model that closed in one quarter of an hour. */
export interface ClosedServed extends ServedSums {
  readonly account: AccountId
  /** Quarters since 1970. */
  readonly quarter: number
  readonly model: string
}

/** `first`: until the first content. `total`: the whole request. Of completed requests only. */
export type LatencyMeasure = 'first' | 'total'

/** So many requests took a time that is rounded down to the ladder (`latencyStep`). */
export interface ServedLatency {
  readonly quarter: number
  readonly measure: LatencyMeasure
  readonly ms: number
  readonly requests: number
}

/** Calls of one lane that ended in one slot of five minutes. */
export interface LaneCalls {
  readonly slot: number
  readonly lane: string
  readonly succeeded: number
  readonly failed: number
  /** The newest failed call, in the word that its receipt has for it; null without one. */
  readonly failed_at: number | null
  readonly error: string | null
  /** The status of the provider's answer, if there was one. */
  readonly status: number | null
}

/** Successful calls of a lane by the time that they took. */
export interface LaneLatency {
  readonly slot: number
  readonly lane: string
  readonly ms: number
  readonly calls: number
}

/**
 * Requests of one model in one quarter of an hour. `failed`: 1 for those that failed, 0 for those that were answered. `first`:
 * milliseconds until the first content, and `rate`: tokens a second from there on, both of streamed answers and rounded down.
 */
export interface ModelMeasured {
  readonly slot: number
  readonly model: string
  readonly measure: 'failed' | 'first' | 'rate'
  readonly value: number
  readonly requests: number
}

/** Calls of lanes are kept for two days, in slots of five minutes. */
export const LANE_SLOT_MS = 300_000
export const LANE_KEPT_MS = 48 * 3_600_000

/** Times up to `below` are kept in multiples of `step`, longer ones as the longest. */
const LATENCY_LADDER = [
  { below: 200, step: 5 },
  { below: 1000, step: 20 },
  { below: 5000, step: 100 },
  { below: 20_000, step: 500 },
  { below: 120_000, step: 2500 },
  { below: 3_600_000, step: 30_000 },
] as const
const LONGEST_MS = 3_600_000

/** SQL that rounds a number of milliseconds down to the ladder: by at most a fortieth, and by at most 5 ms below 200 ms. */
export const latencyStep = (ms: string): string =>
  `CASE ${LATENCY_LADDER.map(({ below, step }) => `WHEN ${ms} < ${below} THEN ${ms} - ${ms} % ${step}`).join(' ')}
    ELSE ${LONGEST_MS} END`

const QUARTER_MS = 900_000
const DAY_MS = 86_400_000

export type ServedStep = 'quarter' | 'day' | 'month'

/** The beginnings of the quarter, the day and the month. */
const beginningsOf = (quarter: number): readonly (readonly [ServedStep, number])[] => {
  const at = quarter * QUARTER_MS
  const day = at - (at % DAY_MS)
  const date = new Date(at)
  return [
    ['quarter', at],
    ['day', day],
    ['month', Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)],
  ]
}

/** A part of a range that whole quarters, days or months make up. */
export interface ServedSpan {
  readonly step: ServedStep
  readonly from: number
  readonly to: number
}

const nextMonth = (at: number): number => {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** Divides a range of full quarters into as few rows as possible: months in its middle, days and quarters at its ends. */
export function spansOf(from: number, to: number): ServedSpan[] {
  const [firstDay, lastDay] = [Math.ceil(from / DAY_MS) * DAY_MS, Math.floor(to / DAY_MS) * DAY_MS]
  if (firstDay >= lastDay) return [{ step: 'quarter', from, to }]
  const date = new Date(firstDay)
  const firstMonth = date.getUTCDate() === 1 ? firstDay : nextMonth(firstDay)
  const end = new Date(lastDay)
  const lastMonth = Date.UTC(end.getUTCFullYear(), end.getUTCMonth(), 1)
  const days: ServedSpan[] =
    firstMonth >= lastMonth
      ? [{ step: 'day', from: firstDay, to: lastDay }]
      : [
          { step: 'day', from: firstDay, to: firstMonth },
          { step: 'month', from: firstMonth, to: lastMonth },
          { step: 'day', from: lastMonth, to: lastDay },
        ]
  const spans: ServedSpan[] = [{ step: 'quarter', from, to: firstDay }, ...days, { step: 'quarter', from: lastDay, to }]
  return spans.filter((span) => span.from < span.to)
}

const SUMS = SERVED_SUMS.join(', ')
const PLACES = SERVED_SUMS.map(() => '?').join(', ')
const ADDED = SERVED_SUMS.map((sum) => `${sum} = served.${sum} + excluded.${sum}`).join(', ')

/** Account 0 and an empty model stand for all of them. */
const ADD = `INSERT INTO served (level, step, at, account, model, ${SUMS}) VALUES (?, ?, ?, 0, ?, ${PLACES})
  ON CONFLICT (level, step, at, account, model) DO UPDATE SET ${ADDED}`
const ADD_ACCOUNT = `INSERT INTO served (level, step, at, account, model, ${SUMS})
  VALUES ('account', ?, ?, ${OWNER_OF('?')}, '', ${PLACES})
  ON CONFLICT (level, step, at, account, model) DO UPDATE SET ${ADDED}`
const ADD_LATENCY = `INSERT INTO served_latency (measure, step, at, ms, requests) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (measure, step, at, ms) DO UPDATE SET requests = served_latency.requests + excluded.requests`
const IS_NEWER = 'served_lanes.failed_at IS NULL OR excluded.failed_at >= served_lanes.failed_at'
const NEWER = (column: string) =>
  `${column} = CASE WHEN excluded.failed_at IS NOT NULL AND (${IS_NEWER}) THEN excluded.${column} ELSE served_lanes.${column} END`
const ADD_LANE = `INSERT INTO served_lanes (slot, lane, succeeded, failed, failed_at, error, status) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot, lane) DO UPDATE SET succeeded = served_lanes.succeeded + excluded.succeeded,
    failed = served_lanes.failed + excluded.failed, ${['error', 'status', 'failed_at'].map(NEWER).join(', ')}`
const ADD_LANE_LATENCY = `INSERT INTO served_lane_latency (slot, lane, ms, calls) VALUES (?, ?, ?, ?)
  ON CONFLICT (slot, lane, ms) DO UPDATE SET calls = served_lane_latency.calls + excluded.calls`

const ADD_MODEL = `INSERT INTO served_models (slot, model, measure, value, requests) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (slot, model, measure, value) DO UPDATE SET requests = served_models.requests + excluded.requests`

const BEGIN_ACCOUNT = `INSERT INTO served_upto (account, movement, closed_at) VALUES (${OWNER_OF('?')}, 0, 0)
  ON CONFLICT DO NOTHING`
const GO_ON = `UPDATE served_upto SET movement = ?, closed_at = ? WHERE account = ${OWNER_OF('?')} AND movement = ?`

const sumsOf = (sums: ServedSums): (number | bigint)[] => SERVED_SUMS.map((sum) => sums[sum])

/** Sums rows of the same name, in one order, so that two nodes that add to the same rows do not wait for each other in a circle. */
function addUp(rows: readonly { readonly name: readonly SqlValue[]; readonly sums: readonly (number | bigint)[] }[]) {
  const found = new Map<string, { name: readonly SqlValue[]; sums: readonly (number | bigint)[] }>()
  for (const { name, sums } of rows) {
    const id = JSON.stringify(name)
    const known = found.get(id)
    found.set(id, {
      name,
      // Each place has the same type in both.
      sums: known ? known.sums.map((sum, place) => ((sum as number) + (sums[place] as number)) as number) : sums,
    })
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, { name, sums }]) => [...name, ...sums])
}

export interface ServedSlice {
  readonly account: AccountId
  readonly from: CountedUpTo
  readonly to: CountedUpTo
}

interface ServedAddition {
  readonly slices: readonly ServedSlice[]
  readonly closed: readonly ClosedServed[]
  readonly latencies: readonly ServedLatency[]
  readonly lanes: readonly LaneCalls[]
  readonly laneLatencies: readonly LaneLatency[]
  readonly models: readonly ModelMeasured[]
}

/**
 * Adds closed receipts and how far they are counted, in one commit. Throws, and changes nothing, if a slice does not continue
 * where the file is.
 */
export async function addServed(file: SqlStore, added: ServedAddition): Promise<void> {
  const { slices, closed, latencies, lanes, laneLatencies, models } = added
  const inSteps = closed.flatMap((row) => beginningsOf(row.quarter).map(([step, at]) => ({ row, step, at })))
  const ofAll = inSteps.flatMap(({ row, step, at }) => [
    { name: ['all', step, at, ''], sums: sumsOf(row) },
    { name: ['model', step, at, row.model], sums: sumsOf(row) },
  ])
  const ofAccounts = inSteps.map(({ row, step, at }) => ({ name: [step, at, row.account], sums: sumsOf(row) }))
  const times = latencies.flatMap(({ quarter, measure, ms, requests }) =>
    beginningsOf(quarter).map(([step, at]) => ({ name: [measure, step, at, ms], sums: [requests] })),
  )
  const byLane = [...lanes].sort((one, other) => one.slot - other.slot || (one.lane < other.lane ? -1 : 1))
  const statements: AtomicStatement[] = [
    insertOwners(slices.map(({ account }) => account)),
    { sql: BEGIN_ACCOUNT, rows: slices.map(({ account }) => [account]) },
    {
      sql: GO_ON,
      rows: slices.map(({ account, from, to }) => [to.movement, to.closedAt, account, from.movement]),
      expectChanges: 1,
    },
    { sql: ADD, rows: addUp(ofAll) },
    { sql: ADD_ACCOUNT, rows: addUp(ofAccounts) },
    { sql: ADD_LATENCY, rows: addUp(times) },
    {
      sql: ADD_LANE,
      rows: byLane.map(({ slot, lane, succeeded, failed, failed_at, error, status }) => [
        ...[slot, lane, succeeded, failed, failed_at, error, status],
      ]),
    },
    {
      sql: ADD_LANE_LATENCY,
      rows: addUp(laneLatencies.map(({ slot, lane, ms, calls }) => ({ name: [slot, lane, ms], sums: [calls] }))),
    },
    {
      sql: ADD_MODEL,
      rows: addUp(
        models.map(({ slot, model, measure, value, requests }) => ({
          name: [slot, model, measure, value],
          sums: [requests],
        })),
      ),
    },
  ]
  await file.atomic(statements)
}

const FIND_UPTO = `SELECT owners.id AS account, movement, closed_at AS "closedAt" FROM json_each(?) list
  CROSS JOIN owners ON owners.id = list.value CROSS JOIN served_upto ON served_upto.account = owners.owner`

export async function findServedUpTo(
  file: SqlStore,
  accounts: readonly AccountId[],
): Promise<ReadonlyMap<AccountId, CountedUpTo>> {
  const rows = await file.all<CountedUpTo & { readonly account: AccountId }>(FIND_UPTO, [JSON.stringify(accounts)])
  return new Map(rows.map(({ account, ...upTo }) => [account, upTo]))
}

const LIST_UPTO = `SELECT served_upto.account AS owner, owners.id AS account, movement, closed_at AS "closedAt"
  FROM served_upto CROSS JOIN owners ON owners.owner = served_upto.account
  WHERE served_upto.account > ? ORDER BY served_upto.account LIMIT ?`

/** In pages. The ledger may no longer have these accounts. */
export const listServedUpTo = (
  file: SqlStore,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<(CountedUpTo & { readonly owner: number; readonly account: AccountId })[]> =>
  file.all(LIST_UPTO, [after, limit])

/** A number that changes with every addition, so that several queries can tell whether they saw the same sums. */
export async function findServedPosition(file: SqlStore): Promise<string> {
  const sql = 'SELECT COUNT(*) AS accounts, COALESCE(SUM(movement), 0) AS movements FROM served_upto'
  const row = await findRow<{ accounts: number; movements: number }>(file, sql)
  return `${row?.accounts} ${row?.movements}`
}

const TABLES = ['served_upto', 'served', 'served_latency', 'served_lanes', 'served_lane_latency', 'served_models']

/** Deletes everything, to be counted again: it comes from a ledger that is not this one. */
export const forgetServed = (file: SqlStore): Promise<unknown> =>
  file.atomic(TABLES.map((table) => ({ sql: `DELETE FROM ${table}`, rows: [[]] })))

/** Deletes calls of lanes, and how requests of models ended, that nothing shows any more. */
export async function forgetLaneCalls(file: SqlStore, before: number): Promise<void> {
  await changeRows(file, 'DELETE FROM served_lanes WHERE slot < ?', [before])
  await changeRows(file, 'DELETE FROM served_lane_latency WHERE slot < ?', [before])
  await changeRows(file, 'DELETE FROM served_models WHERE slot < ?', [before])
}

const TOTALS = SERVED_SUMS.map((sum) => `SUM(${sum}) AS ${sum}`).join(', ')

/** The parameters: a list of `[place, step, from, to]`. For PostgreSQL see `eachOf`. */
const IN_SPANS = (table: string, more: string) => `FROM json_each(?1) AS spans CROSS JOIN ${table}
  ON /*each*/step = spans.value ->> 1 AND at >= CAST(spans.value ->> 2 AS BIGINT) AND at < CAST(spans.value ->> 3 AS BIGINT)
    AND ${more}/*end*/`
const PLACE = 'CAST(spans.value ->> 0 AS BIGINT)'

const listOf = (ranges: readonly (readonly ServedSpan[])[]): string =>
  JSON.stringify(ranges.flatMap((spans, place) => spans.map(({ step, from, to }) => [place, step, from, to])))

const OF_ALL = `SELECT ${PLACE} AS place, ${TOTALS} ${IN_SPANS('served', "level = 'all'")} GROUP BY ${PLACE}`

/** The sums of each of these ranges, by its place; absent where nothing was served. */
export const sumServed = (file: SqlStore, ranges: readonly (readonly ServedSpan[])[]) =>
  file.all<ServedSums & { readonly place: number }>(OF_ALL, [listOf(ranges)])

const LARGEST = 'ORDER BY SUM(wallet_nano) + SUM(plan_nano) DESC, SUM(requests) DESC'
const BY_MODEL = `SELECT model, ${TOTALS} ${IN_SPANS('served', "level = 'model'")} GROUP BY model ${LARGEST}, model LIMIT ?2`
const BY_ACCOUNT = `SELECT owners.id AS account, parts.* FROM (
    SELECT account AS owner, ${TOTALS} ${IN_SPANS('served', "level = 'account'")} GROUP BY account ${LARGEST}, account LIMIT ?2
  ) AS parts CROSS JOIN owners ON owners.owner = parts.owner`

/** The largest by charges first. */
export const sumServedByModel = (file: SqlStore, range: readonly ServedSpan[], limit: number) =>
  file.all<ServedSums & { readonly model: string }>(BY_MODEL, [listOf([range]), limit])

export const sumServedByAccount = (file: SqlStore, range: readonly ServedSpan[], limit: number) =>
  file.all<ServedSums & { readonly account: AccountId }>(BY_ACCOUNT, [listOf([range]), limit])

const LATENCIES = `SELECT measure, ms, SUM(requests) AS requests ${IN_SPANS('served_latency', 'measure = ?2')}
  GROUP BY measure, ms ORDER BY ms`

/** How many requests of a range took which time, shortest first. */
export const sumLatencies = (file: SqlStore, range: readonly ServedSpan[], measure: LatencyMeasure) =>
  file.all<{ readonly ms: number; readonly requests: number }>(LATENCIES, [listOf([range]), measure])

const LANES = `SELECT lane, SUM(succeeded) AS succeeded, SUM(failed) AS failed FROM served_lanes WHERE slot >= ? GROUP BY lane`
const LANE_ERRORS = `SELECT lane, failed_at, error, status FROM served_lanes WHERE slot >= ? AND failed_at IS NOT NULL
  ORDER BY failed_at, slot`
const LANE_TIMES = `SELECT lane, ms, SUM(calls) AS requests FROM served_lane_latency WHERE slot >= ?
  GROUP BY lane, ms ORDER BY lane, ms`

/** The calls of each lane since a slot began. */
export async function readLaneCalls(file: SqlStore, since: number) {
  type Counts = { readonly lane: string; readonly succeeded: number; readonly failed: number }
  type LaneError = {
    readonly lane: string
    readonly failed_at: number
    readonly error: string
    readonly status: number | null
  }
  const counts = await file.all<Counts>(LANES, [since])
  const errors = new Map((await file.all<LaneError>(LANE_ERRORS, [since])).map((error) => [error.lane, error]))
  const times = await file.all<{ lane: string; ms: number; requests: number }>(LANE_TIMES, [since])
  return counts.map((lane) => ({
    ...lane,
    error: errors.get(lane.lane),
    times: times.filter((time) => time.lane === lane.lane),
  }))
}

const MODELS = `SELECT model, measure, value, SUM(requests) AS requests FROM served_models WHERE slot >= ?
  GROUP BY model, measure, value ORDER BY model, measure, value`

/** How requests of each model ended since a quarter of an hour began, and the speed of their answers, in rising order. */
export const readModelMeasures = (file: SqlStore, since: number) =>
  file.all<Omit<ModelMeasured, 'slot'>>(MODELS, [since])
