import type { QueryOf } from '../../../src/contract/console-api.ts'
import { addDays, isDay } from '../../lib/zone-days.ts'

export const MOVEMENT_KINDS = ['charge', 'credit', 'refund', 'adjustment'] as const
type MovementKind = (typeof MOVEMENT_KINDS)[number]

/** Both days are inclusive. */
export interface StatementFilters {
  readonly kind?: MovementKind
  readonly from?: string
  readonly to?: string
}

type Search = Readonly<Record<string, string | undefined>>

/** Ignores invalid values in the address and swaps reversed days. */
export function readFilters({ kind, from, to }: Search): StatementFilters {
  const known = MOVEMENT_KINDS.find((each) => each === kind)
  const [first, last] = isDay(from) && isDay(to) && to < from ? [to, from] : [from, to]
  return {
    ...(known !== undefined && { kind: known }),
    ...(isDay(first) && { from: first }),
    ...(isDay(last) && { to: last }),
  }
}

/** The API expects the day after the last one. */
export const filterQuery = (
  { kind, from, to }: StatementFilters,
  zone: string,
): QueryOf<'GET /wallet/statement.csv'> => ({
  ...(kind !== undefined && { kind }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to: addDays(to, 1) }),
  ...((from !== undefined || to !== undefined) && { zone }),
})
