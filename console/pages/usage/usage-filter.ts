import type { QueryOf } from '../../../src/contract/console-api.ts'
import { isZone } from '../../lib/preferences.ts'
import { isDay } from '../../lib/zone-days.ts'
import { MEASURES, type Measure } from './usage-measure.ts'

type Query = QueryOf<'GET /usage'>

export const PRESETS = ['today', '7d', '30d', '90d', '365d'] as const
export type Preset = (typeof PRESETS)[number]
export const STEPS = ['hour', 'day', 'month'] as const
export type Step = (typeof STEPS)[number]
export const BYS = ['model', 'key', 'kind'] as const
export type By = (typeof BYS)[number]

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
  readonly by: By
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
    by: BYS.find((by) => by === search.by) ?? 'model',
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
  const { range, zone, step, by, measure, model, key, kind } = filter
  return {
    ...(typeof range === 'object' ? range : range !== DEFAULT_RANGE && { range }),
    ...(zone !== undefined && { zone }),
    ...(step !== undefined && { step }),
    ...(by !== 'model' && { by }),
    ...(measure !== 'money' && { measure }),
    ...(model !== undefined && { model }),
    ...(key !== undefined && { key }),
    ...(kind !== undefined && { kind }),
  }
}

/** Filters by one series and groups by the next open dimension. */
export function drillInto(filter: UsageFilter, id: string): UsageFilter {
  const deeper = { ...filter, [filter.by]: id }
  const next = BYS.find((by) => deeper[by] === undefined)
  return { ...deeper, by: next ?? filter.by }
}

export const isNarrowed = ({ model, key, kind }: UsageFilter): boolean =>
  model !== undefined || key !== undefined || kind !== undefined
