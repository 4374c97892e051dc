import { setImmediate as immediate } from 'node:timers/promises'
import type { z } from 'zod'
import type { refusedTurnsQuery, usageQuery } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { listAccountsLike } from '../db/accounts.ts'
import { type RefusedFilter, readRefusedBefore } from '../db/content/refused-turns.ts'
import {
  findSeries,
  levelOf,
  listSeries,
  readUsageBefore,
  type SeriesFilter,
  USAGE_AMOUNTS,
  USAGE_COUNTS,
  type UsageSeries,
  type UsageSums,
} from '../db/content/usage-totals.ts'
import { listKeyNames } from '../db/keys.ts'
import { QUARTER_MS } from '../db/receipts.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { csvRow } from '../lib/text.ts'
import { beginOfDay, dayAt, openTimeZone } from '../lib/time-zone.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import type { ProblemCode } from '../model/problem.ts'
import { type OneAccount, resolveAccount } from './accounts.ts'
import { beginningsOf, type DayRange, HOUR_MS, hourAt, readDayRange, unknownZone } from './date-ranges.ts'
import { findOwnedKey } from './keys.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import type { DbService, OwnerServices } from './services.ts'
import { isoTime, NEWEST, readPage } from './values.ts'

type UsageServices = Pick<OwnerServices, 'db' | 'content' | 'usage'> & {
  /** The maximum of parts in a report. An account with more keys sees its newest ones. */
  readonly partsMax?: number
}

export type UsageAnswer = Awaited<ReturnType<typeof report>>

/** As many series as a chart can distinguish. */
const SERIES_MAX = 8
/** With 400 steps of nine series and their sum, an answer has at most about a megabyte. */
const TABLE_ROWS_MAX = 500

/** The usage of an account in a range of days, step by step, by model, key or kind. */
export async function usageReport(services: UsageServices, args: UsageArgs): Promise<Outcome<UsageAnswer>> {
  const scope = await readUsageScope(services, args)
  if (scope.kind === 'refused') return scope
  return services.usage.readUpToDate(scope.value.account, async (asOf) =>
    done(await report(services, scope.value, args.by, asOf)),
  )
}

async function report(services: UsageServices, scope: UsageScope, by: UsageArgs['by'], asOf: number) {
  const { range, beginnings } = scope
  const whole = await findSeries(services.content, scope.whole)
  const { parts, areAll } = await listUsageParts(services, scope, by)
  const largest = parts.slice(0, SERIES_MAX)
  const ids = [...(whole ? [whole] : []), ...largest].map(({ series }) => series)
  const steps = await usedBetween(services.content, ids, [...beginnings, range.to])
  const totalSteps = (whole && steps.get(whole.series)) ?? beginnings.map(() => NO_USAGE)
  const total = totalSteps.reduce((sum, used) => combine(sum, used, 1), NO_USAGE)
  /** An `id` of null stands for the rest. */
  const charted: { id: string | null; name: string; used: UsageSums; steps: readonly UsageSums[] }[] = largest.map(
    (part) => ({ ...part, steps: steps.get(part.series)! }),
  )
  if (!areAll || parts.length > largest.length) {
    charted.push({
      ...REST,
      used: without(total, largest),
      steps: totalSteps.map((used, step) => {
        const parts = largest.map(({ series }) => ({ used: steps.get(series)![step]! }))
        return without(used, parts)
      }),
    })
  }
  const listed = parts.slice(0, TABLE_ROWS_MAX)
  const rows: { id: string | null; name: string; used: UsageSums }[] = [...listed]
  if (!areAll || listed.length < parts.length) rows.push({ ...REST, used: without(total, listed) })
  const series = []
  for (const { id, name, used, steps } of charted) {
    series.push({ id, name, total: usedView(used), steps: steps.map(usedView) })
    // A year of nine series has thousands of amounts to format.
    await immediate()
  }
  return {
    from: isoTime(range.from),
    to: isoTime(range.to),
    as_of: isoTime(asOf),
    steps: beginnings.map(isoTime),
    total: usedView(total),
    total_steps: totalSteps.map(usedView),
    series,
    table: rows.map(({ id, name, used }) => ({ id, name, used: usedView(used) })),
  }
}

const REST = { id: null, name: 'the rest' } as const

const without = (total: UsageSums, parts: readonly Pick<UsagePart, 'used'>[]): UsageSums =>
  parts.reduce((left, { used }) => combine(left, used, -1), total)

export type UsageArgs = z.output<typeof usageQuery> & OneAccount

/** The series and the instants of a question about usage. */
interface UsageScope {
  readonly account: number
  readonly range: DayRange
  /** The starts of the steps. */
  readonly beginnings: readonly number[]
  /** The one series that has all of it. */
  readonly whole: SeriesFilter
  /** The series that it is divided into. */
  readonly parts: SeriesFilter
}

const STEPS_MAX = 400
const DAY_MS = 86_400_000
const RANGE_DAYS_MAX = 5 * 366

async function readUsageScope({ db }: DbService, args: UsageArgs): Promise<Outcome<UsageScope>> {
  const resolved = await resolveAccount({ db }, args.account)
  if (resolved.kind === 'refused') return resolved
  const read = readDayRange(args)
  if (read.kind === 'refused') return read
  const range = read.value
  const days = (range.endDay - range.firstDay) / DAY_MS
  if (days > RANGE_DAYS_MAX)
    return refuseOperation('invalid_range', `The range has ${days} days; the maximum is five years.`)
  const beginnings = beginningsOf(range, args.step, STEPS_MAX)
  if (beginnings === undefined) {
    const larger = days <= STEPS_MAX ? 'day' : 'month'
    const message = `The range has more than ${STEPS_MAX} steps of one ${args.step}. Use step ${larger}.`
    return refuseOperation('invalid_range', message, { param: 'step' })
  }
  const account = resolved.value.row
  const found = args.key === undefined ? undefined : await findOwnedKey({ db }, args.key, account as AccountRow)
  if (found?.kind === 'refused') return found
  const filter = { account: resolved.value.id as AccountId, key: found?.key.row, model: args.model, kind: args.kind }
  const named = { key: filter.key !== undefined, model: filter.model !== undefined, kind: filter.kind !== undefined }
  return done({
    ...{ account, range, beginnings },
    whole: { ...filter, level: levelOf(named) },
    parts: { ...filter, level: levelOf({ ...named, [args.by]: true }) },
  })
}

/** One model, key or kind, and its usage in the range. */
interface UsagePart {
  readonly series: number
  readonly id: string
  readonly name: string
  readonly used: UsageSums
}

/** Names per query, because the database thread also records every settle. */
const NAMES_AT_ONCE = 1000
const PARTS_MAX = 5000

/**
 * The used parts, the largest by money first, then by requests. Unless they `areAll`, some are left out, and the parts add up to
 * less than the whole.
 */
async function listUsageParts(
  { db, content, partsMax = PARTS_MAX }: UsageServices,
  { parts, range }: UsageScope,
  by: UsageArgs['by'],
): Promise<{ readonly parts: readonly UsagePart[]; readonly areAll: boolean }> {
  const found = await listSeries(content, parts, { since: range.from, limit: partsMax + 1 })
  const listed = found.slice(0, partsMax)
  const ids = listed.map(({ series }) => series)
  const used = await usedBetween(content, ids, [range.from, range.to])
  const inUse = listed
    .map((series) => ({ series, used: used.get(series.series)?.[0] ?? NO_USAGE }))
    .filter((each) => each.used.requests > 0)
  const keys = inUse.map(({ series }) => series.key)
  const names = by === 'key' ? await namesOfKeys(db, keys) : undefined
  const named = inUse.map(({ series, used }) => ({ series: series.series, used, ...nameOf(series, by, names) }))
  return { parts: named.sort(largestFirst), areAll: listed.length === found.length }
}

type Named = Pick<UsagePart, 'id' | 'name'>

function nameOf({ key, model, kind }: UsageSeries, by: UsageArgs['by'], keys?: ReadonlyMap<number, Named>): Named {
  if (by === 'key') return keys?.get(key) ?? { id: `key ${key}`, name: `key ${key}` }
  const name = by === 'model' ? model : kind
  return { id: name, name }
}

async function namesOfKeys(db: LedgerDb, rows: readonly number[]): Promise<ReadonlyMap<number, Named>> {
  const names = new Map<number, Named>()
  for (let from = 0; from < rows.length; from += NAMES_AT_ONCE) {
    const keys = await listKeyNames(db, rows.slice(from, from + NAMES_AT_ONCE))
    for (const { row, id, name } of keys) names.set(row, { id, name })
  }
  return names
}

function largestFirst({ used: one, id }: UsagePart, { used: other, id: otherId }: UsagePart): number {
  const money = other.wallet_nano + other.plan_nano - (one.wallet_nano + one.plan_nano)
  if (money !== 0n) return money > 0n ? 1 : -1
  return other.requests - one.requests || (id < otherId ? -1 : 1)
}

const NO_USAGE: UsageSums = {
  ...{ requests: 0, failed: 0, uncached_input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 },
  ...{ wallet_nano: 0n, plan_nano: 0n },
}

/** Adds or subtracts every count and every amount. */
function combine(first: UsageSums, second: UsageSums, sign: 1 | -1): UsageSums {
  const sums: { -readonly [Sum in keyof UsageSums]: UsageSums[Sum] } = { ...NO_USAGE }
  for (const count of USAGE_COUNTS) sums[count] = first[count] + sign * second[count]
  for (const amount of USAGE_AMOUNTS) sums[amount] = first[amount] + BigInt(sign) * second[amount]
  return sums
}

export type UsedView = ReturnType<typeof usedView>

/** Names each count, because stored rows have more columns. */
const usedView = (sums: UsageSums) => ({
  requests: sums.requests,
  failed: sums.failed,
  uncached_input: sums.uncached_input,
  cached_input: sums.cached_input,
  cache_write: sums.cache_write,
  output: sums.output,
  reasoning: sums.reasoning,
  wallet: formatUsd(sums.wallet_nano),
  plan: formatUsd(sums.plan_nano),
})

/** Rows per query, so that neither thread is blocked for long. */
const ROWS_AT_ONCE = 1000

/**
 * The usage of each series between each instant and the next one: one less than there are instants. All instants are full
 * quarters of an hour, because the days and hours of every zone are.
 */
async function usedBetween(
  content: SqlStore,
  series: readonly number[],
  instants: readonly number[],
): Promise<ReadonlyMap<number, readonly UsageSums[]>> {
  const quarters = instants.map((at) => Math.floor(at / QUARTER_MS))
  const used = new Map<number, readonly UsageSums[]>()
  const atOnce = Math.max(1, Math.floor(ROWS_AT_ONCE / quarters.length))
  for (let from = 0; from < series.length; from += atOnce) {
    const some = series.slice(from, from + atOnce)
    const rows = await readUsageBefore(content, some, [...new Set(quarters)])
    const found = new Map(rows.map((row) => [`${row.series} ${row.before}`, row]))
    for (const each of some) {
      const before = quarters.map((quarter) => found.get(`${each} ${quarter}`) ?? NO_USAGE)
      const between = before.slice(1).map((sums, index) => combine(sums, before[index]!, -1))
      used.set(each, between)
    }
  }
  return used
}

/** A few megabytes, built before the first byte is sent, so that all of it is of the same moment. */
const ROWS_MAX = 50_000
/** Rows between two queries, after which the event loop runs other work. */
const EXPORTED_ROWS_AT_ONCE = 400

/** The usage of an account as CSV: a row for each step and each model, key or kind that was used in it. */
export async function exportUsage(services: UsageServices, args: UsageArgs): Promise<Outcome<string>> {
  const read = await readUsageScope(services, args)
  if (read.kind === 'refused') return read
  const scope = read.value
  const instants = [...scope.beginnings, scope.range.to]
  return services.usage.readUpToDate(scope.account, async () => {
    const { parts, areAll } = await listUsageParts(services, scope, args.by)
    if (!areAll) return tooManyRows
    const rows = [csvRow(['begins_at', args.by, 'name', ...USAGE_COUNTS, 'wallet_usd', 'plan_usd'])]
    const atOnce = Math.ceil(EXPORTED_ROWS_AT_ONCE / instants.length)
    for (let from = 0; from < parts.length; from += atOnce) {
      const some = parts.slice(from, from + atOnce)
      const ids = some.map(({ series }) => series)
      const steps = await usedBetween(services.content, ids, instants)
      for (const { series, id, name } of some) {
        for (const [step, sums] of steps.get(series)!.entries()) {
          if (sums.requests === 0) continue
          const used = usedView(sums)
          const counts = USAGE_COUNTS.map((count) => used[count])
          rows.push(csvRow([isoTime(instants[step]!), id, name, ...counts, used.wallet, used.plan]))
        }
      }
      if (rows.length > ROWS_MAX) return tooManyRows
    }
    return done(rows.join(''))
  })
}

/** The days that a report of the command line has when it names none: the last thirty, with today. */
const DAYS_SHOWN = 30

type OpenUsageArgs = { readonly [Name in 'from' | 'to' | 'zone']?: string | undefined }

/** Fills in the days that are not named. */
export function withDays<Args extends OpenUsageArgs>({ clock }: Pick<OwnerServices, 'clock'>, args: Args) {
  const zone = args.zone ?? 'UTC'
  const opened = openTimeZone(zone)
  const today = opened === undefined ? clock.now() : dayAt(opened, clock.now())
  const textOf = (day: number) => new Date(day).toISOString().slice(0, 10)
  const to = args.to ?? textOf(today + DAY_MS)
  const end = Date.parse(`${to}T00:00:00Z`)
  // What is not a day is refused where the range is read.
  const from = args.from ?? (Number.isNaN(end) ? to : textOf(end - DAYS_SHOWN * DAY_MS))
  return { ...args, from, to, zone }
}

/** The usage of each account in a range of days, a page of accounts at a time, newest first. */
export function usageOfAccounts(
  services: UsageServices & Pick<OwnerServices, 'clock'>,
  { from, to, zone, ...page }: PageQuery & OpenUsageArgs,
) {
  const days = withDays(services, { from, to, zone })
  const range = readDayRange(days)
  if (range.kind === 'refused') return Promise.resolve(range)
  return readPage(page, {
    first: NEWEST,
    read: (before, limit) => listAccountsLike(services.db, { before, limit, search: undefined }),
    numberOf: ({ row }) => row,
    view: async ({ row, id, email }) => {
      const used = await services.usage.readUpToDate(row, async () => {
        const filter = { account: id as AccountId, key: undefined, model: undefined, kind: undefined }
        const whole = await findSeries(services.content, { ...filter, level: 'all' })
        if (whole === undefined) return NO_USAGE
        const between = await usedBetween(services.content, [whole.series], [range.value.from, range.value.to])
        return between.get(whole.series)?.[0] ?? NO_USAGE
      })
      return { account: id, email, used: usedView(used) }
    },
  })
}

const tooManyRows = refuseOperation(
  'invalid_range',
  `The export has more than ${ROWS_MAX} rows. Use a larger step, a shorter range, or one model or key.`,
)

type RefusedServices = Pick<OwnerServices, 'content' | 'refusedTurns'>

/** Requests refused before admission, by reason and step, in the same steps as the usage of the range. */
export async function refusedTurnsReport(
  services: RefusedServices & Pick<OwnerServices, 'db'>,
  args: z.output<typeof refusedTurnsQuery> & OneAccount,
) {
  const scope = await readUsageScope(services, { ...args, by: 'kind' })
  if (scope.kind === 'refused') return scope
  const { beginnings, range } = scope.value
  const reasons = await refusedBetween(services, args, [...beginnings, range.to])
  return done({ steps: beginnings.map(isoTime), reasons })
}

/**
 * The total of each reason, and its steps between each instant and the next one. The most frequent reason first. Reasons that did not occur, or too long ago to be
 * reported, are absent.
 */
async function refusedBetween(
  { content, refusedTurns }: RefusedServices,
  filter: RefusedFilter,
  instants: readonly number[],
) {
  await refusedTurns.flush()
  const firstReported = refusedTurns.firstReported()
  const quarters = instants.map((at) => Math.max(Math.floor(at / QUARTER_MS), firstReported))
  const rows = await readRefusedBefore(content, filter, [...new Set(quarters)])
  const totals = new Map<ProblemCode, Map<number, number>>()
  for (const { code, before, total } of rows) {
    const ofCode = totals.get(code) ?? new Map<number, number>()
    totals.set(code, ofCode.set(before, total))
  }
  return [...totals]
    .map(([code, ofCode]) => {
      const before = quarters.map((quarter) => ofCode.get(quarter) ?? 0)
      const steps = before.slice(1).map((total, step) => total - before[step]!)
      return { code, total: before.at(-1)! - before[0]!, steps }
    })
    .filter(({ total }) => total > 0)
    .sort((first, second) => second.total - first.total || (first.code < second.code ? -1 : 1))
}

const HOURS = 24
/** After every row: ledger time may be ahead of a clock that was set back. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Usage and refusals since midnight in the zone, and the usage of each of the last 24 hours. */
export async function usageOverview(
  services: UsageServices & RefusedServices & { readonly clock: { now(): number } },
  args: { readonly account: string; readonly zone: string },
) {
  const zone = openTimeZone(args.zone)
  if (zone === undefined) return unknownZone(args.zone)
  const resolved = await resolveAccount(services, args.account)
  if (resolved.kind === 'refused') return resolved
  const account = resolved.value.row
  const now = services.clock.now()
  const thisHour = hourAt(zone, now)
  const sinceMidnight = [beginOfDay(zone, dayAt(zone, now)), NEVER]
  const hours = Array.from({ length: HOURS }, (_, index) => thisHour - (HOURS - 1 - index) * HOUR_MS)
  const refused = await refusedBetween(services, { account: args.account }, sinceMidnight)
  return services.usage.readUpToDate(account, async () => {
    const whole = await findSeries(services.content, { account: resolved.value.id as AccountId, level: 'all' })
    const between = async (instants: readonly number[]) =>
      (whole && (await usedBetween(services.content, [whole.series], instants)).get(whole.series)) ??
      instants.slice(1).map(() => NO_USAGE)
    const [today] = await between(sinceMidnight)
    const byHour = await between([...hours, NEVER])
    return done({
      today: usedView(today!),
      refused_today: refused.reduce((sum, { total }) => sum + total, 0),
      hours: hours.map((from, index) => ({ from: isoTime(from), used: usedView(byHour[index]!) })),
    })
  })
}
