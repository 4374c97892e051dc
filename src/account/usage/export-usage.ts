import { csvRow } from '../../lib/csv-row.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { listUsageParts } from './usage-parts.ts'
import type { UsageDeps } from './usage-report.ts'
import { readUsageScope, type UsageArgs } from './usage-scope.ts'
import { usedBetween, usedView } from './used-between.ts'

/** Some megabytes, which are made before the first byte leaves: all of it is of the same moment. */
const ROWS_MAX = 50_000

const COUNTS = ['requests', 'failed', 'uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const
/** So many are written before whoever pays meanwhile has a turn. */
const ROWS_AT_ONCE = 400

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
    const atOnce = Math.ceil(ROWS_AT_ONCE / instants.length)
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
