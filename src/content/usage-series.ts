import type { KeyKind } from '../model/caller.ts'
import type { AccountId } from '../model/ids.ts'

/** Which key, model and kind a series is of. A key has one kind, so its series name both. */
export interface SeriesName {
  readonly level: UsageLevel
  /** 0: of any. */
  readonly key: number
  /** Empty: of any. */
  readonly model: string
  readonly kind: KeyKind | ''
}

export type UsageLevel = 'all' | 'kind' | 'model' | 'kind+model' | 'key' | 'key+model'

interface Looks {
  readonly key?: true
  readonly model?: true
  readonly kind?: true
}

/** What each level looks at. */
const LEVELS: Readonly<Record<UsageLevel, Looks>> = {
  all: {},
  kind: { kind: true },
  model: { model: true },
  'kind+model': { kind: true, model: true },
  key: { key: true, kind: true },
  'key+model': { key: true, model: true, kind: true },
}

const LEVEL_NAMES = Object.keys(LEVELS) as UsageLevel[]

/** Every series that a request with these counts in. */
export const seriesOf = (of: { readonly key: number; readonly model: string; readonly kind: KeyKind }): SeriesName[] =>
  LEVEL_NAMES.map((level) => {
    const looks = LEVELS[level]
    return { level, key: looks.key ? of.key : 0, model: looks.model ? of.model : '', kind: looks.kind ? of.kind : '' }
  })

/** The level whose series tell apart what is asked for; a key tells its kind by itself. */
export function levelOf({ key, model, kind }: { key: boolean; model: boolean; kind: boolean }): UsageLevel {
  if (key) return model ? 'key+model' : 'key'
  if (kind) return model ? 'kind+model' : 'kind'
  return model ? 'model' : 'all'
}

export const USAGE_COUNTS = [
  'requests',
  'failed',
  'uncached_input',
  'cached_input',
  'cache_write',
  'output',
  'reasoning',
] as const
export const USAGE_AMOUNTS = ['wallet_nano', 'plan_nano'] as const

/** What a row of `usage` has, beside its series and its quarter of an hour. */
export const USAGE_SUMS = [...USAGE_COUNTS, ...USAGE_AMOUNTS]

export type UsageSums = Readonly<Record<(typeof USAGE_COUNTS)[number], number>> &
  Readonly<Record<(typeof USAGE_AMOUNTS)[number], bigint>>

/** What closed on one account in a quarter of an hour, of one key and model. */
export interface ClosedUsage extends UsageSums {
  readonly account: AccountId
  readonly quarter: number
  readonly key: number
  readonly model: string
  readonly kind: KeyKind
  readonly last_at: number
}

/** Counts and amounts in the order of `USAGE_SUMS`. */
export type Sums = readonly (number | bigint)[]

/** What a series gets: by quarters of an hour, the first one first. */
export interface SeriesUsage {
  readonly account: AccountId
  readonly name: SeriesName
  readonly quarters: { readonly quarter: number; readonly sums: Sums }[]
  lastAt: number
}

/** Every request counts in one series of each level; what falls in the same series and quarter is one entry. */
export function sumBySeries(closed: readonly ClosedUsage[]): SeriesUsage[] {
  const all = new Map<string, SeriesUsage>()
  for (const usage of [...closed].sort((first, second) => first.quarter - second.quarter)) {
    const sums = USAGE_SUMS.map((sum) => usage[sum])
    for (const name of seriesOf(usage)) {
      const id = `${usage.account} ${name.level} ${name.key} ${name.kind} ${name.model}`
      const series = all.get(id) ?? { account: usage.account, name, quarters: [], lastAt: 0 }
      all.set(id, series)
      addQuarter(series, usage, sums)
    }
  }
  return [...all.values()]
}

function addQuarter(series: SeriesUsage, { quarter, last_at }: ClosedUsage, sums: Sums): void {
  const { quarters } = series
  series.lastAt = Math.max(series.lastAt, last_at)
  if (quarters.at(-1)?.quarter !== quarter) quarters.push({ quarter, sums })
  else quarters.push({ quarter, sums: addSums(quarters.pop()!.sums, sums) })
}

export const addSums = (first: Sums, second: Sums): Sums =>
  // Each place has one type in both, which the compiler cannot see.
  first.map((sum, index) => ((sum as number) + (second[index] as number)) as number)
