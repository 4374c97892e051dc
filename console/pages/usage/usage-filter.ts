import type { QueryOf } from '../../../src/contract/console-api.ts'
import { isZone } from '../../lib/preferences.ts'
import { addDays, isDay } from '../../lib/time-zones.ts'
import { MEASURES, type Measure } from './usage-series.ts'

type Query = QueryOf<'GET /usage'>

export const PRESETS = ['today', 'yesterday', '7d', '30d', '90d', '365d'] as const
type Preset = (typeof PRESETS)[number]
export const STEPS = ['hour', 'day', 'month'] as const
type Step = (typeof STEPS)[number]
export const BYS = ['model', 'key', 'kind'] as const
export type By = (typeof BYS)[number]
/** What usage is grouped by. People, teams and tags are no filters. */
export const GROUPINGS = [...BYS, 'person', 'team', 'tag'] as const
export type Grouping = (typeof GROUPINGS)[number]
/** The name of a tag when none is given. */
export const ANY_TAG = 'repo'
const TAG_NAME = /^[a-z][a-z0-9_.-]{0,31}$/
export const isTagName = (text: string): boolean => TAG_NAME.test(text)

/** Both days are inclusive. */
export interface OwnDays {
  readonly from: string
  readonly through: string
}

/** The state of the usage page, which is its address. */
export interface UsageFilter {
  readonly range: Preset | OwnDays
  /** Undefined: the user's own zone. */
  readonly zone: string | undefined
  /** Undefined: the interval that fits the range. */
  readonly step: Step | undefined
  readonly by: Grouping
  /** The name of the tag by which usage is grouped. */
  readonly tag: string | undefined
  readonly measure: Measure
  readonly model: string | undefined
  readonly key: string | undefined
  readonly kind: Query['kind']
}

const DEFAULT_RANGE: Preset = '30d'

type Search = Readonly<Record<string, string | undefined>>

/** Ignores values in the address that are not valid. */
export function readUsageFilter(search: Search): UsageFilter {
  return {
    range: rangeOf(search),
    zone: search.zone !== undefined && isZone(search.zone) ? search.zone : undefined,
    step: STEPS.find((step) => step === search.step),
    by: GROUPINGS.find((by) => by === search.by) ?? 'model',
    tag: search.tag !== undefined && isTagName(search.tag) ? search.tag : undefined,
    measure: MEASURES.find((measure) => measure === search.measure) ?? 'money',
    model: search.model || undefined,
    key: search.key || undefined,
    kind: search.kind === 'wallet' || search.kind === 'builder' ? search.kind : undefined,
  }
}

function rangeOf({ from, through, range }: Search): UsageFilter['range'] {
  if (isDay(from) && isDay(through) && from <= through) return { from, through }
  return PRESETS.find((preset) => preset === range) ?? DEFAULT_RANGE
}

/** Leaves out the defaults. */
export function writeUsageFilter(filter: UsageFilter): Record<string, string> {
  const { range, zone, step, by, tag, measure, model, key, kind } = filter
  return {
    ...(typeof range === 'object' ? range : range !== DEFAULT_RANGE && { range }),
    ...(zone !== undefined && { zone }),
    ...(step !== undefined && { step }),
    ...(by !== 'model' && { by }),
    ...(tag !== undefined && { tag }),
    ...(measure !== 'money' && { measure }),
    ...(model !== undefined && { model }),
    ...(key !== undefined && { key }),
    ...(kind !== undefined && { kind }),
  }
}

/** Usage by tag is not counted by model. */
export const groupBy = (filter: UsageFilter, by: Grouping): UsageFilter => ({
  ...filter,
  ...{ by, model: by === 'tag' ? undefined : filter.model },
})

/** The `by` of the API. */
export const queriedBy = ({ by, tag = ANY_TAG }: Pick<UsageFilter, 'by' | 'tag'>): Query['by'] =>
  by === 'tag' ? `tag:${tag}` : by

/** Filters by one series and groups by the next open dimension; undefined where a series is no filter. */
export function drillInto(filter: UsageFilter, id: string): UsageFilter | undefined {
  if (!BYS.some((by) => by === filter.by)) return undefined
  const deeper = { ...filter, [filter.by]: id }
  const next = BYS.find((by) => deeper[by] === undefined)
  return { ...deeper, by: next ?? filter.by }
}

export const isNarrowed = ({ model, key, kind }: UsageFilter): boolean =>
  model !== undefined || key !== undefined || kind !== undefined

export interface UsageRange {
  readonly from: string
  /** The day after the last one, as the API expects. */
  readonly to: string
  readonly step: Step
  /** The interval that gives a readable number of steps. */
  readonly possible: readonly Step[]
}

const DAYS: Readonly<Record<Preset, number>> = { today: 1, yesterday: 1, '7d': 7, '30d': 30, '90d': 90, '365d': 365 }

/** The server's maximum number of hours, with room for days of 25 hours. */
const HOURLY_DAYS_MAX = 14
const DAILY_DAYS_MAX = 400
const HOURLY_DAYS = 2
const DAILY_DAYS = 100
const MONTHLY_DAYS_MIN = 32

export function usageRange({ range, step }: Pick<UsageFilter, 'range' | 'step'>, today: string): UsageRange {
  const end = addDays(today, range === 'yesterday' ? 0 : 1)
  const days =
    typeof range === 'object'
      ? { from: range.from, to: addDays(range.through, 1) }
      : { from: addDays(end, -DAYS[range]), to: end }
  const count = daysBetween(days.from, days.to)
  const possible: Step[] = [
    ...(count <= HOURLY_DAYS_MAX ? (['hour'] as const) : []),
    ...(count <= DAILY_DAYS_MAX ? (['day'] as const) : []),
    ...(count >= MONTHLY_DAYS_MIN ? (['month'] as const) : []),
  ]
  const fits: Step = count <= HOURLY_DAYS ? 'hour' : count <= DAILY_DAYS ? 'day' : 'month'
  return { ...days, possible, step: step !== undefined && possible.includes(step) ? step : fits }
}

/** The next wider range, undefined for the widest. */
export function widerThan(range: UsageFilter['range']): Preset | undefined {
  if (typeof range === 'object') return '365d'
  if (range === 'today') return '7d'
  return PRESETS[PRESETS.indexOf(range) + 1]
}

const DAY_MS = 86_400_000

const daysBetween = (from: string, to: string): number =>
  (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS
