import { setImmediate as immediate } from 'node:timers/promises'
import type { z } from 'zod'
import type { usageAnswer, usageQuery, used } from '../contract/owner.ts'
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
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { QUARTER_MS } from '../db/usage-slices.ts'
import { csvRow } from '../lib/text.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount } from './accounts.ts'
import type { UsageKeeper } from './count-usage.ts'
import { beginningsOf, type DayRange, readDayRange } from './date-ranges.ts'
import { findOwnedKey } from './key-views.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { isoTime } from './values.ts'

export interface UsageDeps extends UsagePartsDeps {
  readonly usage: Pick<UsageKeeper, 'readUpToDate'>
}

export type UsageAnswer = z.output<typeof usageAnswer>

/** As many as a chart can tell apart. */
const SERIES_MAX = 8
/** With 400 steps of nine series and their sum a whole answer is about a megabyte at the very most. */
const TABLE_ROWS_MAX = 500

/** What an account has used in a range of days, step by step, by model, key or kind. */
export async function usageReport(deps: UsageDeps, args: UsageArgs): Promise<Outcome<UsageAnswer>> {
  const scope = await readUsageScope(deps, args)
  if (scope.kind === 'refused') return scope
  const { account } = scope.value
  return deps.usage.readUpToDate(account, async (asOf) => done(await report(deps, scope.value, { by: args.by, asOf })))
}

async function report(
  deps: UsageDeps,
  scope: UsageScope,
  { by, asOf }: { readonly by: UsageArgs['by']; readonly asOf: number },
): Promise<UsageAnswer> {
  const { range, beginnings } = scope
  const instants = [...beginnings, range.to]
  const whole = await findSeries(deps.content, scope.whole)
  const divided = await listUsageParts(deps, scope, by)
  const { parts, areAll } = divided
  const largest = parts.slice(0, SERIES_MAX)
  const ids = [...(whole ? [whole] : []), ...largest].map(({ series }) => series)
  const steps = await usedBetween(deps.content, ids, instants)
  const totalSteps = (whole && steps.get(whole.series)) ?? beginnings.map(() => NO_USAGE)
  const total = totalSteps.reduce(addUsed, NO_USAGE)
  const shown = largest.map((part) => ({ ...part, steps: steps.get(part.series)! }))
  const rest = {
    used: without(
      total,
      shown.map(({ used }) => used),
    ),
    steps: restOf(totalSteps, shown),
  }
  const told = [...shown, ...(areAll && parts.length === shown.length ? [] : [{ ...REST, ...rest }])]
  return {
    from: isoTime(range.from),
    to: isoTime(range.to),
    as_of: isoTime(asOf),
    steps: beginnings.map(isoTime),
    total: usedView(total),
    total_steps: totalSteps.map(usedView),
    series: await oneByOne(told),
    table: tableOf(divided, total),
  }
}

type ToldSeries = Pick<UsageAnswer['series'][number], 'id' | 'name'> & Pick<UsagePart, 'used'> & StepsOf
interface StepsOf {
  readonly steps: readonly UsageSums[]
}

/** A year of nine series is thousands of amounts in words: whoever pays meanwhile has a turn after each. */
async function oneByOne(told: readonly ToldSeries[]): Promise<UsageAnswer['series']> {
  const series: UsageAnswer['series'] = []
  for (const { id, name, used, steps } of told) {
    series.push({ id, name, total: usedView(used), steps: steps.map(usedView) })
    await immediate()
  }
  return series
}

const REST = { id: null, name: 'the rest' } as const

const without = (total: UsageSums, parts: readonly UsageSums[]): UsageSums => parts.reduce(subtractUsed, total)

const restOf = (total: readonly UsageSums[], shown: readonly StepsOf[]): readonly UsageSums[] =>
  total.map((used, step) =>
    without(
      used,
      shown.map(({ steps }) => steps[step]!),
    ),
  )

function tableOf({ parts, areAll }: UsageParts, total: UsageSums): UsageAnswer['table'] {
  const listed = parts.slice(0, TABLE_ROWS_MAX)
  const rows = listed.map(({ id, name, used }) => ({ id, name, used: usedView(used) }))
  if (areAll && listed.length === parts.length) return rows
  return [
    ...rows,
    {
      ...REST,
      used: usedView(
        without(
          total,
          listed.map(({ used }) => used),
        ),
      ),
    },
  ]
}

export type UsageArgs = z.output<typeof usageQuery> & OneAccount

/** Which series a question about usage is answered from, and between which instants. */
interface UsageScope {
  readonly account: number
  readonly range: DayRange
  /** Where each step begins. */
  readonly beginnings: readonly number[]
  /** The one series that has all of it. */
  readonly whole: SeriesFilter
  /** Those that it is divided into. */
  readonly parts: SeriesFilter
}

const STEPS_MAX = 400
const DAY_MS = 86_400_000
const RANGE_DAYS_MAX = 5 * 366

export async function readUsageScope(deps: { readonly db: LedgerDb }, args: UsageArgs): Promise<Outcome<UsageScope>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const read = readDayRange(args)
  if (read.kind === 'refused') return read
  const range = read.value
  const days = (range.endDay - range.firstDay) / DAY_MS
  if (days > RANGE_DAYS_MAX) return refused('invalid_range', `The range has ${days} days, five years are the most.`)
  const beginnings = beginningsOf(range, args.step, STEPS_MAX)
  if (beginnings === undefined) return tooManySteps(args.step, days)
  const account = resolved.account.row
  const found = args.key === undefined ? undefined : await findOwnedKey(deps, args.key, account as AccountRow)
  if (found?.kind === 'refused') return found
  const filter = { account: resolved.account.id as AccountId, key: found?.key.row, model: args.model, kind: args.kind }
  return done({ account, range, beginnings, ...seriesFor(filter, args.by) })
}

function seriesFor(filter: Omit<SeriesFilter, 'level'>, by: UsageArgs['by']): Pick<UsageScope, 'whole' | 'parts'> {
  const named = { key: filter.key !== undefined, model: filter.model !== undefined, kind: filter.kind !== undefined }
  return {
    whole: { ...filter, level: levelOf(named) },
    parts: { ...filter, level: levelOf({ ...named, [by]: true }) },
  }
}

function tooManySteps(step: string, days: number) {
  const other = days <= STEPS_MAX ? 'day' : 'month'
  return refused(
    'invalid_range',
    `The range has more than ${STEPS_MAX} steps of one ${step}: ask for it by ${other}.`,
    {
      param: 'step',
    },
  )
}

/** One of those that a range is divided into, and what was used of it. */
interface UsagePart {
  readonly series: number
  readonly id: string
  readonly name: string
  readonly used: UsageSums
}

interface UsageParts {
  readonly parts: readonly UsagePart[]
  /** Otherwise some are left out, and the parts come to less than the whole. */
  readonly areAll: boolean
}

interface UsagePartsDeps {
  readonly db: LedgerDb
  readonly content: SqliteFile
  /** So many are looked at for a report: whoever makes more keys than that sees the newest of them one by one. */
  readonly partsMax?: number
}

/** The thread that answers also records every settle. */
const NAMES_AT_ONCE = 1000

const PARTS_MAX = 5000

/** What something was used of, the largest by money first, then by requests. */
async function listUsageParts(
  { db, content, partsMax = PARTS_MAX }: UsagePartsDeps,
  { parts, range }: UsageScope,
  by: UsageArgs['by'],
): Promise<UsageParts> {
  const found = await listSeries(content, parts, { since: range.from, limit: partsMax + 1 })
  const listed = found.slice(0, partsMax)
  const ids = listed.map(({ series }) => series)
  const used = await usedBetween(content, ids, [range.from, range.to])
  const inUse = listed
    .map((series) => ({ series, used: used.get(series.series)?.[0] ?? NO_USAGE }))
    .filter((each) => each.used.requests > 0)
  const names =
    by === 'key'
      ? await namesOfKeys(
          db,
          inUse.map(({ series }) => series.key),
        )
      : undefined
  const named = inUse.map((each) => ({
    series: each.series.series,
    used: each.used,
    ...nameOf(each.series, by, names),
  }))
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

function largestFirst(first: UsagePart, second: UsagePart): number {
  const money = moneyOf(second.used) - moneyOf(first.used)
  if (money !== 0n) return money > 0n ? 1 : -1
  return second.used.requests - first.used.requests || (first.id < second.id ? -1 : 1)
}

/** Plain arithmetic on what was used: every count and every amount for itself. */
export const NO_USAGE: UsageSums = {
  ...{ requests: 0, failed: 0, uncached_input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 },
  ...{ wallet_nano: 0n, plan_nano: 0n },
}

const addUsed = (first: UsageSums, second: UsageSums): UsageSums => combine(first, second, 1)

const subtractUsed = (first: UsageSums, second: UsageSums): UsageSums => combine(first, second, -1)

function combine(first: UsageSums, second: UsageSums, sign: 1 | -1): UsageSums {
  const sums: { -readonly [Sum in keyof UsageSums]: UsageSums[Sum] } = { ...NO_USAGE }
  for (const count of USAGE_COUNTS) sums[count] = first[count] + sign * second[count]
  for (const amount of USAGE_AMOUNTS) sums[amount] = first[amount] + BigInt(sign) * second[amount]
  return sums
}

const moneyOf = ({ wallet_nano, plan_nano }: UsageSums): bigint => wallet_nano + plan_nano

export type UsedView = z.output<typeof used>

export const usedView = ({ wallet_nano, plan_nano, ...counts }: UsageSums): UsedView => ({
  requests: counts.requests,
  failed: counts.failed,
  uncached_input: counts.uncached_input,
  cached_input: counts.cached_input,
  cache_write: counts.cache_write,
  output: counts.output,
  reasoning: counts.reasoning,
  wallet: formatUsd(wallet_nano),
  plan: formatUsd(plan_nano),
})

/** Rows that one question brings: the thread that answers has others waiting, and so has the one that asks. */
const ROWS_AT_ONCE = 1000

/**
 * What each series came to between each of these instants and the next one, in their order: one less than there are
 * instants. All of them are at full quarters of an hour, because the days and hours of every zone are.
 */
export async function usedBetween(
  content: SqliteFile,
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
      used.set(
        each,
        before.slice(1).map((sums, index) => subtractUsed(sums, before[index]!)),
      )
    }
  }
  return used
}

/** Some megabytes, which are made before the first byte leaves: all of it is of the same moment. */
const ROWS_MAX = 50_000

const COUNTS = ['requests', 'failed', 'uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const
/** So many are written before whoever pays meanwhile has a turn. */
const EXPORTED_ROWS_AT_ONCE = 400

/** What an account has used as CSV: a row for each step and each model, key or kind of which something was used in it. */
export async function exportUsage(deps: UsageDeps, args: UsageArgs): Promise<Outcome<string>> {
  const read = await readUsageScope(deps, args)
  if (read.kind === 'refused') return read
  const scope = read.value
  const instants = [...scope.beginnings, scope.range.to]
  return deps.usage.readUpToDate(scope.account, async () => {
    const { parts, areAll } = await listUsageParts(deps, scope, args.by)
    if (!areAll) return tooManyRows()
    const rows = [csvRow(['begins_at', args.by, 'name', ...COUNTS, 'wallet_usd', 'plan_usd'])]
    const atOnce = Math.ceil(EXPORTED_ROWS_AT_ONCE / instants.length)
    for (let from = 0; from < parts.length; from += atOnce) {
      const some = parts.slice(from, from + atOnce)
      const ids = some.map(({ series }) => series)
      const steps = await usedBetween(deps.content, ids, instants)
      for (const { series, id, name } of some) {
        for (const [step, sums] of steps.get(series)!.entries()) {
          if (sums.requests === 0) continue
          const used = usedView(sums)
          const counts = COUNTS.map((count) => used[count])
          rows.push(csvRow([isoTime(instants[step]!), id, name, ...counts, used.wallet, used.plan]))
        }
      }
      if (rows.length > ROWS_MAX) return tooManyRows()
    }
    return done(rows.join(''))
  })
}

const tooManyRows = () =>
  refused(
    'invalid_range',
    `There are more than ${ROWS_MAX} rows: ask for a larger step, a shorter range, or one model or key.`,
  )
