import type { z } from 'zod'
import { readUsageBefore } from '../../content/read-usage.ts'
import { USAGE_AMOUNTS, USAGE_COUNTS, type UsageSums } from '../../content/usage-series.ts'
import type { used } from '../../contract/usage.ts'
import { formatUsd } from '../../model/money.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import { QUARTER_MS } from '../../store/usage-slices.ts'

/** Plain arithmetic on what was used: every count and every amount for itself. */
export const NO_USAGE: UsageSums = {
  ...{ requests: 0, failed: 0, uncached_input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 },
  ...{ wallet_nano: 0n, plan_nano: 0n },
}

export const addUsed = (first: UsageSums, second: UsageSums): UsageSums => combine(first, second, 1)

export const subtractUsed = (first: UsageSums, second: UsageSums): UsageSums => combine(first, second, -1)

function combine(first: UsageSums, second: UsageSums, sign: 1 | -1): UsageSums {
  const sums: { -readonly [Sum in keyof UsageSums]: UsageSums[Sum] } = { ...NO_USAGE }
  for (const count of USAGE_COUNTS) sums[count] = first[count] + sign * second[count]
  for (const amount of USAGE_AMOUNTS) sums[amount] = first[amount] + BigInt(sign) * second[amount]
  return sums
}

export const moneyOf = ({ wallet_nano, plan_nano }: UsageSums): bigint => wallet_nano + plan_nano

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
