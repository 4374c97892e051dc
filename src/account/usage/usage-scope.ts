import type { z } from 'zod'
import type { SeriesFilter } from '../../content/read-usage.ts'
import { levelOf } from '../../content/usage-series.ts'
import type { usageQuery } from '../../contract/usage.ts'
import type { AccountId, AccountRow } from '../../model/ids.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type OneAccount, resolveAccount } from '../accounts/one-account.ts'
import { findOwnedKey } from '../keys/find-owned-key.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { type DayRange, readDayRange } from './day-range.ts'
import { beginningsOf } from './range-steps.ts'

export type UsageArgs = z.output<typeof usageQuery> & OneAccount

/** Which series a question about usage is answered from, and between which instants. */
export interface UsageScope {
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
