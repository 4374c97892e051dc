import { setImmediate as immediate } from 'node:timers/promises'
import type { z } from 'zod'
import { findSeries } from '../../content/read-usage.ts'
import type { UsageSums } from '../../content/usage-series.ts'
import type { usageAnswer } from '../../contract/usage.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import type { UsageKeeper } from './usage-keeper.ts'
import { listUsageParts, type UsagePart, type UsageParts, type UsagePartsDeps } from './usage-parts.ts'
import { readUsageScope, type UsageArgs, type UsageScope } from './usage-scope.ts'
import { addUsed, NO_USAGE, subtractUsed, usedBetween, usedView } from './used-between.ts'

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
