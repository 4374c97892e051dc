import { setImmediate as immediate } from 'node:timers/promises'
import type { z } from 'zod'
import type { refusedTurnsQuery, usageQuery } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { listAccountsLike } from '../db/accounts.ts'
import { type RefusedFilter, readRefusedBefore } from '../db/content/refused-turns.ts'
import {
  COUNTED_WITH_OWNER,
  levelOf,
  listSeries,
  ownerName,
  readUsageBefore,
  type SeriesFilter,
  USAGE_AMOUNTS,
  USAGE_COUNTS,
  type UsageSeries,
  type UsageSums,
} from '../db/content/usage-totals.ts'
import { listKeyNames, listOwnerNames, listOwnersOfKeys, listUsableKeys } from '../db/keys.ts'
import { QUARTER_MS } from '../db/receipts.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { groupBy } from '../lib/collections.ts'
import { csvRow } from '../lib/text.ts'
import { beginOfDay, dayAt, openTimeZone } from '../lib/time-zone.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import type { ProblemCode } from '../model/problem.ts'
import { type OneAccount, resolveAccount } from './accounts.ts'
import { beginningsOf, type DayRange, HOUR_MS, hourAt, readDayRange, unknownZone } from './date-ranges.ts'
import { findOwnedKey, readKeyFilter } from './keys.ts'
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

/** The usage of an account, or of one person's keys, in a range of days, step by step, by model, key, kind or tag. */
export async function usageReport(services: UsageServices, args: UsageArgs): Promise<Outcome<UsageAnswer>> {
  const scope = await readUsageScope(services, args)
  if (scope.kind === 'refused') return scope
  return services.usage.readUpToDate(scope.value.account, async (asOf) =>
    done(await report(services, scope.value, args.by, asOf)),
  )
}

async function report(services: UsageServices, scope: UsageScope, by: UsageArgs['by'], asOf: number) {
  const { range, beginnings } = scope
  const whole = await listWhole(services.content, scope.whole)
  const { parts, areAll } = await listUsageParts(services, scope, by)
  const largest = parts.slice(0, SERIES_MAX)
  const groups = [whole, ...largest.map(({ series }) => series)]
  const [totalSteps = [], ...steps] = await usedBetween(services.content, groups, [...beginnings, range.to])
  const total = totalSteps.reduce((sum, used) => combine(sum, used, 1), NO_USAGE)
  /** An `id` of null stands for the rest. */
  const charted: { id: string | null; name: string; used: UsageSums; steps: readonly UsageSums[] }[] = largest.map(
    (part, index) => ({ ...part, steps: steps[index]! }),
  )
  if (!areAll || parts.length > largest.length) {
    charted.push({
      ...REST,
      used: without(total, largest),
      steps: totalSteps.map((used, step) => {
        const parts = largest.map((_, index) => ({ used: steps[index]![step]! }))
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

export type UsageArgs = z.output<typeof usageQuery> & UsageOf

/** An account; with the row of a person, only their keys. */
export interface UsageOf extends OneAccount {
  readonly person?: number | undefined
}

/** The series and the instants of a question about usage. */
interface UsageScope {
  readonly account: number
  readonly range: DayRange
  /** The starts of the steps. */
  readonly beginnings: readonly number[]
  /** Ids of the keys that it is about; undefined for all of the account. */
  readonly keys: readonly string[] | undefined
  /** The series that have all of it: one, or one for each key of a person. */
  readonly whole: SeriesFilter
  /** The series that it is divided into. */
  readonly parts: SeriesFilter
}

/** Keys of a person or a team in a report. */
const KEYS_MAX = 1000

/** The keys of a person or a team that may have been used since then; undefined for all keys of the account. */
async function keysOf(
  db: LedgerDb,
  account: number,
  { person, team, since }: { person?: number | undefined; team?: number | undefined; since: number },
) {
  if (person === undefined && team === undefined) return done(undefined)
  const keys = await listUsableKeys(db, { account, person, team }, { since, limit: KEYS_MAX + 1 })
  return keys.length <= KEYS_MAX ? done(keys) : tooManyKeys
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
  const keys = await keysOfReport(db, account as AccountRow, args, range.from)
  if (keys.kind === 'refused') return keys
  const rows = keys.value?.map(({ row }) => row)
  const filter = { account: resolved.value.id as AccountId, keys: rows, model: args.model, kind: args.kind }
  const named = { key: rows !== undefined, model: filter.model !== undefined, kind: filter.kind !== undefined }
  const tagName = tagNameOf(args.by)
  // Tags are not counted by model, because clients choose them.
  if (tagName !== undefined && named.model) return tagsOfModel
  return done({
    ...{ account, range, beginnings, keys: keys.value?.map(({ id }) => id) },
    whole: { ...filter, level: levelOf(named) },
    parts: { ...filter, tagName, level: levelOf({ ...named, [partOf(args.by)]: true }) },
  })
}

/** People and teams have the usage of their keys. */
const isOfKeys = (by: UsageArgs['by']): by is 'person' | 'team' => by === 'person' || by === 'team'

/** Of a report by the values of a tag, its name. */
const tagNameOf = (by: UsageArgs['by']): string | undefined =>
  by.startsWith('tag:') ? by.slice('tag:'.length) : undefined

const partOf = (by: UsageArgs['by']) =>
  tagNameOf(by) !== undefined ? 'tag' : isOfKeys(by) ? 'key' : (by as 'model' | 'key' | 'kind')

/** The key that is asked for, or those of a person; undefined for all keys of the account. */
async function keysOfReport(
  db: LedgerDb,
  account: AccountRow,
  { key, person, team }: Pick<UsageArgs, 'key' | 'person' | 'team'>,
  since: number,
) {
  if (key === undefined) {
    const filter = await readKeyFilter({ db }, { account, person }, { team })
    return filter.kind === 'refused' ? filter : keysOf(db, account, { person, team: filter.value.team, since })
  }
  const found = await findOwnedKey({ db }, key, { account, person })
  return found.kind === 'refused' ? found : done([found.key])
}

/** One model, key, kind, person, team or value of a tag, and its usage in the range. */
interface UsagePart {
  /** A negative one is subtracted. */
  readonly series: readonly number[]
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
  { whole, range, ...scope }: UsageScope,
  by: UsageArgs['by'],
): Promise<{ readonly parts: readonly UsagePart[]; readonly areAll: boolean }> {
  const ofOwners = isOfKeys(by) ? await seriesOfOwners(content, { whole, range }, by) : undefined
  const parts = ofOwners ?? scope.parts
  const found = await listSeries(content, parts, { since: range.from, limit: partsMax + 1 })
  const listed = found.slice(0, partsMax)
  /** Of a key, or of a person or a team. */
  const rowOf = ({ key, model }: UsageSeries) => (ofOwners ? Number(model.slice(ofOwners.tagName.length + 1)) : key)
  const names =
    by === 'key' || isOfKeys(by) ? await namesOf(db, listed.map(rowOf), { by, ofOwners: !!ofOwners }) : undefined
  const named = (series: UsageSeries) => nameOf(series, by, names?.get(rowOf(series)))
  const groups = [...groupBy(listed, (series) => named(series).id).values()].map((group) => ({
    ...named(group[0]!),
    series: group.map(({ series }) => series),
  }))
  if (parts.tagName !== undefined) groups.push({ ...NONE, series: await listUntagged(content, { whole, parts }) })
  const sums = await usedBetween(
    content,
    groups.map(({ series }) => series),
    [range.from, range.to],
  )
  const used = groups
    .map((group, index) => ({ ...group, used: sums[index]![0]! }))
    .filter((each) => each.used.requests > 0)
  return { parts: used.sort(largestFirst), areAll: listed.length === found.length }
}

/**
 * The series of people or teams, which are few where their keys are many. Undefined where the report is about a part of the
 * account, or its range has requests that an earlier version counted without them.
 */
async function seriesOfOwners(
  content: SqlStore,
  { whole, range }: Pick<UsageScope, 'whole' | 'range'>,
  by: 'person' | 'team',
): Promise<(SeriesFilter & { readonly tagName: string }) | undefined> {
  if (whole.level !== 'all') return undefined
  const ofTag = { account: whole.account, level: levelOf({ key: false, model: false, kind: false, tag: true }) }
  const groups = [await listWhole(content, whole), await listWhole(content, { ...ofTag, model: COUNTED_WITH_OWNER })]
  const [all, counted] = await usedBetween(content, groups, [range.from, range.to])
  return all![0]!.requests === counted![0]!.requests ? { ...ofTag, tagName: ownerName(by) } : undefined
}

/** What has no tag of the name: the whole without all values of the name. */
async function listUntagged(
  content: SqlStore,
  { whole, parts }: Pick<UsageScope, 'whole' | 'parts'>,
): Promise<number[]> {
  const { tagName, ...others } = parts
  const tagged = await listWhole(content, { ...others, model: tagName })
  return [...(await listWhole(content, whole)), ...tagged.map((series) => -series)]
}

type Named = Pick<UsagePart, 'id' | 'name'>

function nameOf({ key, model, kind }: UsageSeries, by: UsageArgs['by'], found: Named | undefined): Named {
  if (by === 'key') return found ?? { id: `key ${key}`, name: `key ${key}` }
  if (isOfKeys(by)) return found ?? NONE
  const tagName = tagNameOf(by)
  if (tagName !== undefined) return { id: model, name: model.slice(tagName.length + 1) || 'other' }
  const name = by === 'model' ? model : kind
  return { id: name, name }
}

/** Keys without a person or a team, and requests without the tag. */
const NONE: Named = { id: 'none', name: 'none' }

/** By the row of a key: its own name, or that of its person or team. `ofOwners`: by the row of the person or team. */
async function namesOf(
  db: LedgerDb,
  rows: readonly number[],
  { by, ofOwners }: { readonly by: 'key' | 'person' | 'team'; readonly ofOwners: boolean },
): Promise<ReadonlyMap<number, Named>> {
  const names = new Map<number, Named>()
  for (let from = 0; from < rows.length; from += NAMES_AT_ONCE) {
    const some = rows.slice(from, from + NAMES_AT_ONCE)
    const list = ofOwners ? listOwnerNames : listOwnersOfKeys
    const found = by === 'key' ? await listKeyNames(db, some) : await list(db, some, by)
    for (const { row, id, name } of found) names.set(row, { id, name })
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
 * The usage of each group of series between each instant and the next one: one less than there are instants. All instants are
 * full quarters of an hour, because the days and hours of every zone are.
 */
export async function usedBetween(
  content: SqlStore,
  groups: readonly (readonly number[])[],
  instants: readonly number[],
): Promise<(readonly UsageSums[])[]> {
  const quarters = instants.map((at) => Math.floor(at / QUARTER_MS))
  const befores = groups.map(() => new Map<number, UsageSums>())
  const series = groups.flatMap((group, index) =>
    group.map((each) => ({
      each: Math.abs(each),
      sign: each < 0 ? (-1 as const) : (1 as const),
      before: befores[index]!,
    })),
  )
  const atOnce = Math.max(1, Math.floor(ROWS_AT_ONCE / quarters.length))
  for (let from = 0; from < series.length; from += atOnce) {
    const some = groupBy(series.slice(from, from + atOnce), ({ each }) => each)
    for (const row of await readUsageBefore(content, [...some.keys()], [...new Set(quarters)])) {
      for (const { before, sign } of some.get(row.series)!) {
        before.set(row.before, combine(before.get(row.before) ?? NO_USAGE, row, sign))
      }
    }
  }
  return befores.map((before) => {
    const totals = quarters.map((quarter) => before.get(quarter) ?? NO_USAGE)
    return totals.slice(1).map((sums, index) => combine(sums, totals[index]!, -1))
  })
}

/** The series that have all of what a filter admits. */
export const listWhole = async (content: SqlStore, filter: SeriesFilter): Promise<number[]> =>
  (await listSeries(content, filter, { since: 0, limit: KEYS_MAX })).map(({ series }) => series)

/** A few megabytes, built before the first byte is sent, so that all of it is of the same moment. */
const ROWS_MAX = 50_000
/** Rows between two queries, after which the event loop runs other work. */
const EXPORTED_ROWS_AT_ONCE = 400

/** The usage of an account as CSV: a row for each step and each model, key, kind or tag that was used in it. */
export async function exportUsage(services: UsageServices, args: UsageArgs): Promise<Outcome<string>> {
  const read = await readUsageScope(services, args)
  if (read.kind === 'refused') return read
  const scope = read.value
  const instants = [...scope.beginnings, scope.range.to]
  return services.usage.readUpToDate(scope.account, async () => {
    const { parts, areAll } = await listUsageParts(services, scope, args.by)
    if (!areAll) return tooManyRows
    const rows = [csvRow(['begins_at', args.by, 'name', ...USAGE_COUNTS, 'wallet_usd', 'plan_usd'])]
    for await (const { at, id, name, used: sums } of stepsOfParts(services.content, parts, instants)) {
      const used = usedView(sums)
      const counts = USAGE_COUNTS.map((count) => used[count])
      rows.push(csvRow([isoTime(at), id, name, ...counts, used.wallet, used.plan]))
      if (rows.length > ROWS_MAX) return tooManyRows
    }
    return done(rows.join(''))
  })
}

interface StepOfPart extends Named {
  readonly at: number
  readonly used: UsageSums
}

/** The usage of each part in each step in which it was used, part by part. */
async function* stepsOfParts(
  content: SqlStore,
  parts: readonly UsagePart[],
  instants: readonly number[],
): AsyncGenerator<StepOfPart> {
  const atOnce = Math.ceil(EXPORTED_ROWS_AT_ONCE / instants.length)
  for (let from = 0; from < parts.length; from += atOnce) {
    const some = parts.slice(from, from + atOnce)
    const groups = some.map(({ series }) => series)
    const steps = await usedBetween(content, groups, instants)
    for (const [index, { id, name }] of some.entries()) {
      for (const [step, used] of steps[index]!.entries()) {
        if (used.requests > 0) yield { at: instants[step]!, id, name, used }
      }
    }
  }
}

/** What an account has used of each model on each day, from its totals. `read` sees them together with what it reads itself. */
export async function usageByDayAndModel<Result>(
  services: UsageServices,
  args: Omit<UsageArgs, 'by' | 'step' | 'model' | 'key' | 'kind' | 'person'>,
  read: (rows: readonly StepOfPart[], asOf: number) => Promise<Outcome<Result>>,
): Promise<Outcome<Result>> {
  const scoped = await readUsageScope(services, { ...args, by: 'model', step: 'day' })
  if (scoped.kind === 'refused') return scoped
  const scope = scoped.value
  return services.usage.readUpToDate(scope.account, async (asOf) => {
    const { parts, areAll } = await listUsageParts(services, scope, 'model')
    if (!areAll) return tooManyRows
    const rows: StepOfPart[] = []
    for await (const row of stepsOfParts(services.content, parts, [...scope.beginnings, scope.range.to])) rows.push(row)
    return read(rows, asOf)
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
        const whole = await listWhole(services.content, { account: id as AccountId, level: 'all' })
        const [between] = await usedBetween(services.content, [whole], [range.value.from, range.value.to])
        return between![0]!
      })
      return { account: id, email, used: usedView(used) }
    },
  })
}

const tagsOfModel = refuseOperation(
  'invalid_range',
  'Usage by tag cannot be limited to one model. Leave out `model`.',
  {
    param: 'model',
  },
)

const tooManyKeys = refuseOperation(
  'invalid_range',
  `You have had more than ${KEYS_MAX} keys in this range. Use a shorter range, or one key.`,
)

const tooManyRows = refuseOperation(
  'invalid_range',
  `The export has more than ${ROWS_MAX} rows. Use a larger step, a shorter range, or one model or key.`,
)

type RefusedServices = Pick<OwnerServices, 'content' | 'refusedTurns'>

/** Requests refused before admission, by reason and step, in the same steps as the usage of the range. */
export async function refusedTurnsReport(
  services: RefusedServices & Pick<OwnerServices, 'db'>,
  args: z.output<typeof refusedTurnsQuery> & UsageOf,
) {
  const scope = await readUsageScope(services, { ...args, by: 'kind' })
  if (scope.kind === 'refused') return scope
  const { beginnings, range, keys } = scope.value
  const filter = { account: args.account, keys, kind: args.kind }
  const reasons = await refusedBetween(services, filter, [...beginnings, range.to])
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
  const totals = new Map<ProblemCode, Map<number, number>>()
  for (const keys of inSlices(filter.keys, Math.ceil(ROWS_AT_ONCE / quarters.length))) {
    for (const { code, before, total } of await readRefusedBefore(content, { ...filter, keys }, [
      ...new Set(quarters),
    ])) {
      const ofCode = totals.get(code) ?? new Map<number, number>()
      totals.set(code, ofCode.set(before, (ofCode.get(before) ?? 0) + total))
    }
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

/** Undefined stands for all of them. */
function* inSlices<Item>(items: readonly Item[] | undefined, size: number) {
  if (items === undefined) yield undefined
  else for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

const HOURS = 24
/** After every row: ledger time may be ahead of a clock that was set back. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Usage and refusals since midnight in the zone, and the usage of each of the last 24 hours. */
export async function usageOverview(
  services: UsageServices & RefusedServices & { readonly clock: { now(): number } },
  args: UsageOf & { readonly zone: string },
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
  const keys = await keysOf(services.db, account, { person: args.person, since: hours[0]! })
  if (keys.kind === 'refused') return keys
  const ids = keys.value?.map(({ id }) => id)
  const refused = await refusedBetween(services, { account: args.account, keys: ids }, sinceMidnight)
  return services.usage.readUpToDate(account, async () => {
    const rows = keys.value?.map(({ row }) => row)
    const named = { key: rows !== undefined, model: false, kind: false }
    const filter = { account: resolved.value.id as AccountId, level: levelOf(named), keys: rows }
    const whole = await listWhole(services.content, filter)
    const between = async (instants: readonly number[]) => (await usedBetween(services.content, [whole], instants))[0]!
    const [today] = await between(sinceMidnight)
    const byHour = await between([...hours, NEVER])
    return done({
      today: usedView(today!),
      refused_today: refused.reduce((sum, { total }) => sum + total, 0),
      hours: hours.map((from, index) => ({ from: isoTime(from), used: usedView(byHour[index]!) })),
    })
  })
}
