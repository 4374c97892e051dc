import { type SeriesName, seriesOf } from './usage-levels.ts'
import { USAGE_SUMS } from './usage-migration.ts'
import type { ClosedUsage } from './usage-totals.ts'

/** Counts and amounts in the order of `USAGE_SUMS`. */
export type Sums = readonly (number | bigint)[]

/** What a series gets: by quarters of an hour, the first one first. */
export interface SeriesUsage {
  readonly account: number
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
