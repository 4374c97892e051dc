import type { QueryOf } from '../../../src/contract/console-api.ts'
import { addDays, isDay } from '../../lib/zone-days.ts'

export const MOVEMENT_KINDS = ['charge', 'credit', 'refund', 'adjustment'] as const
type MovementKind = (typeof MOVEMENT_KINDS)[number]

/** What of the statement is shown. Both days belong to it, as people mean them. */
export interface StatementFilters {
  readonly kind?: MovementKind
  readonly from?: string
  readonly to?: string
}

type Search = Readonly<Record<string, string | undefined>>

/** From an address, where anybody may have written anything: what cannot be meant is left out, days stand in their order. */
export function readFilters({ kind, from, to }: Search): StatementFilters {
  const known = MOVEMENT_KINDS.find((each) => each === kind)
  const [first, last] = isDay(from) && isDay(to) && to < from ? [to, from] : [from, to]
  return {
    ...(known !== undefined && { kind: known }),
    ...(isDay(first) && { from: first }),
    ...(isDay(last) && { to: last }),
  }
}

/** As the server asks: until before the day behind the last. */
export const filterQuery = (
  { kind, from, to }: StatementFilters,
  zone: string,
): QueryOf<'GET /wallet/statement.csv'> => ({
  ...(kind !== undefined && { kind }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to: addDays(to, 1) }),
  ...((from !== undefined || to !== undefined) && { zone }),
})
