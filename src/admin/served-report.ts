import { setImmediate as immediate } from 'node:timers/promises'
import type { z } from 'zod'
import type { servedQuery } from '../contract/operator-reports.ts'
import { listAccountsById } from '../db/accounts.ts'
import {
  LANE_SLOT_MS,
  type ModelMeasured,
  readLaneCalls,
  readModelMeasures,
  SERVED_AMOUNTS,
  SERVED_COUNTS,
  type ServedSums,
  spansOf,
  sumLatencies,
  sumServed,
  sumServedByAccount,
  sumServedByModel,
} from '../db/content/served-totals.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { formatUsd } from '../model/money.ts'
import type { ServedRead } from './count-served.ts'
import { beginningsOf, type DayRange, readDayRange } from './date-ranges.ts'
import { done, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { isoTime } from './values.ts'

type ReportServices = Pick<AdminServices, 'db' | 'served' | 'clock'> & { readonly content: SqlStore }

const STEPS_MAX = 400
const DAY_MS = 86_400_000
const RANGE_DAYS_MAX = 5 * 366
/** Models and accounts that are named; one row has the rest. */
const NAMED_MAX = 10

/** What the server served in a range of days: money, requests, latency, and who and what it was for. */
export async function servedReport(services: ReportServices, args: z.output<typeof servedQuery>) {
  const read = readDayRange(args)
  if (read.kind === 'refused') return read
  const range = read.value
  const dayCount = (range.endDay - range.firstDay) / DAY_MS
  if (dayCount > RANGE_DAYS_MAX)
    return refuseOperation('invalid_range', `The range has ${dayCount} days; the maximum is five years.`)
  const beginnings = beginningsOf(range, args.step, STEPS_MAX)
  if (beginnings === undefined) {
    const larger = dayCount <= STEPS_MAX ? 'day' : 'month'
    const message = `The range has more than ${STEPS_MAX} steps of one ${args.step}. Use step ${larger}.`
    return refuseOperation('invalid_range', message, { param: 'step' })
  }
  return services.served.readUpToDate(async (of) => done(await report(services, range, beginnings, of)))
}

async function report(
  { db, content }: ReportServices,
  { from, to }: DayRange,
  beginnings: readonly number[],
  { asOf, isComplete }: ServedRead,
) {
  const ends = [...beginnings.slice(1), to]
  const rows = new Map(
    (
      await sumServed(
        content,
        beginnings.map((begin, step) => spansOf(begin, ends[step]!)),
      )
    ).map((row) => [row.place, row]),
  )
  const steps = beginnings.map((_, step) => rows.get(step) ?? NOTHING)
  const total = steps.reduce(add, NOTHING)
  const spans = spansOf(from, to)
  const models = await sumServedByModel(content, spans, NAMED_MAX)
  const accounts = (await sumServedByAccount(content, spans, NAMED_MAX)).sort(largestFirst)
  const emails = new Map(
    (
      await listAccountsById(
        db,
        accounts.map(({ account }) => account),
      )
    ).map(({ id, email }) => [id, email]),
  )
  await immediate()
  return {
    from: isoTime(from),
    to: isoTime(to),
    as_of: isoTime(asOf),
    complete: isComplete,
    steps: beginnings.map(isoTime),
    total: servedView(total),
    total_steps: steps.map(servedView),
    latency: {
      first: percentilesOf(await sumLatencies(content, spans, 'first')),
      total: percentilesOf(await sumLatencies(content, spans, 'total')),
    },
    models: [
      ...models.map((row) => ({ id: row.model as string | null, served: servedView(row) })),
      ...restOf(total, models).map((served) => ({ id: null, served })),
    ],
    accounts: [
      ...accounts.map((row) => ({
        id: row.account as string | null,
        email: emails.get(row.account) ?? row.account,
        served: servedView(row),
      })),
      ...restOf(total, accounts).map((served) => ({ id: null, email: '', served })),
    ],
  }
}

const NOTHING: ServedSums = {
  ...{ requests: 0, failed: 0, failovers: 0, unpriced: 0, input: 0, output: 0 },
  ...{ wallet_nano: 0n, plan_nano: 0n, cost_nano: 0n, plan_cost_nano: 0n },
}

function combine(first: ServedSums, second: ServedSums, sign: 1 | -1): ServedSums {
  const sums: { -readonly [Sum in keyof ServedSums]: ServedSums[Sum] } = { ...NOTHING }
  for (const count of SERVED_COUNTS) sums[count] = first[count] + sign * second[count]
  for (const amount of SERVED_AMOUNTS) sums[amount] = first[amount] + BigInt(sign) * second[amount]
  return sums
}

const add = (first: ServedSums, second: ServedSums): ServedSums => combine(first, second, 1)

/** What the named rows leave of the total; nothing if they are all. */
function restOf(total: ServedSums, named: readonly ServedSums[]) {
  const rest = named.reduce((left, row) => combine(left, row, -1), total)
  return rest.requests === 0 ? [] : [servedView(rest)]
}

function largestFirst(one: ServedSums, other: ServedSums): number {
  const money = other.wallet_nano + other.plan_nano - (one.wallet_nano + one.plan_nano)
  return money === 0n ? other.requests - one.requests : money > 0n ? 1 : -1
}

const servedView = (sums: ServedSums) => ({
  requests: sums.requests,
  failed: sums.failed,
  failovers: sums.failovers,
  unpriced: sums.unpriced,
  input: sums.input,
  output: sums.output,
  revenue: formatUsd(sums.wallet_nano),
  plan: formatUsd(sums.plan_nano),
  cost: formatUsd(sums.cost_nano),
  plan_cost: formatUsd(sums.plan_cost_nano),
  margin: formatUsd(sums.wallet_nano - sums.cost_nano),
})

interface Timed {
  readonly ms: number
  readonly requests: number
}

const countOf = (rows: readonly { readonly requests: number }[]): number =>
  rows.reduce((sum, row) => sum + row.requests, 0)

/** By nearest rank, from times in rising order. */
function percentilesOf(times: readonly Timed[]) {
  const requests = countOf(times)
  const at = (share: number): number | null => {
    let left = Math.ceil(share * requests)
    for (const time of times) {
      left -= time.requests
      if (left <= 0) return time.ms
    }
    return null
  }
  return { requests, p50: requests === 0 ? null : at(0.5), p95: requests === 0 ? null : at(0.95) }
}

const HOUR_MS = 3_600_000

/** The calls of each lane in the last hour and the last day, in whole slots of five minutes. */
export async function laneCallsReport(services: ReportServices) {
  return services.served.readUpToDate(async ({ asOf }) => {
    const since = (ms: number) => readLaneCalls(services.content, Math.floor((asOf - ms) / LANE_SLOT_MS) * LANE_SLOT_MS)
    const [hour, day] = [await since(HOUR_MS), await since(24 * HOUR_MS)]
    const ofHour = new Map(hour.map((calls) => [calls.lane, calls]))
    return done({
      as_of: isoTime(asOf),
      items: day
        .map((calls) => ({
          lane: calls.lane,
          hour: callsView(ofHour.get(calls.lane)),
          day: callsView(calls),
        }))
        .sort((one, other) => (one.lane < other.lane ? -1 : 1)),
    })
  })
}

type Calls = Awaited<ReturnType<typeof readLaneCalls>>[number]

function callsView(calls: Calls | undefined) {
  const { p50, p95 } = percentilesOf(calls?.times ?? [])
  return {
    ...{ succeeded: calls?.succeeded ?? 0, failed: calls?.failed ?? 0, p50, p95 },
    last_error: calls?.error
      ? { at: isoTime(calls.error.failed_at), error: calls.error.error, status: calls.error.status }
      : null,
  }
}

const QUARTER_MS = 900_000
/** Fewer requests could tell one account what another one does, and say little about a model. */
const MEASURED_MIN = 20

/**
 * How well each model has answered all accounts in the last 24 hours: the share of requests that did not fail, and the medians of
 * the time to the first token and of the tokens a second after it. A figure of too few requests is null.
 */
export async function modelMeasures({ content, clock }: Pick<ReportServices, 'content' | 'clock'>) {
  const since = Math.ceil((clock.now() - DAY_MS) / QUARTER_MS) * QUARTER_MS
  const rows = await readModelMeasures(content, since)
  return (model: string) => {
    const of = (measure: ModelMeasured['measure']): Timed[] =>
      rows.flatMap((row) =>
        row.model === model && row.measure === measure ? [{ ms: row.value, requests: row.requests }] : [],
      )
    const median = (values: readonly Timed[]) => (countOf(values) < MEASURED_MIN ? null : percentilesOf(values).p50)
    const ended = of('failed')
    const requests = countOf(ended)
    const answered = countOf(ended.filter(({ ms: failed }) => failed === 0))
    return {
      // Rounded down, so that 100 % means that none failed.
      success_percent: requests < MEASURED_MIN ? null : Math.floor((1000 * answered) / requests) / 10,
      first_ms: median(of('first')),
      tokens_per_second: median(of('rate')),
    }
  }
}
