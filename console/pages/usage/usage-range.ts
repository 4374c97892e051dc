import { addDays } from '../../lib/zone-days.ts'
import { PRESETS, type Preset, type Step, type UsageFilter } from './usage-filter.ts'

export interface UsageRange {
  readonly from: string
  /** The day after the last one, as the API expects. */
  readonly to: string
  readonly step: Step
  /** The interval that gives a readable number of steps. */
  readonly possible: readonly Step[]
}

const DAYS: Readonly<Record<Preset, number>> = { today: 1, '7d': 7, '30d': 30, '90d': 90, '365d': 365 }

/** The server's maximum number of hours, with room for days of 25 hours. */
const HOURLY_DAYS_MAX = 14
const DAILY_DAYS_MAX = 400
const HOURLY_DAYS = 2
const DAILY_DAYS = 100
const MONTHLY_DAYS_MIN = 32

export function usageRange({ range, step }: Pick<UsageFilter, 'range' | 'step'>, today: string): UsageRange {
  const days =
    typeof range === 'object'
      ? { from: range.from, to: addDays(range.through, 1) }
      : { from: addDays(today, 1 - DAYS[range]), to: addDays(today, 1) }
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
  return PRESETS[PRESETS.indexOf(range) + 1]
}

const DAY_MS = 86_400_000

const daysBetween = (from: string, to: string): number =>
  (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS
