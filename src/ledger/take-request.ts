import { type LimitRefusal, standingsOf, startUnderLimits } from '../books/turn-limits.ts'
import type { AppliedLimit, LimitStanding } from '../model/limit.ts'
import type { LedgerCore } from './core.ts'

export type TakenRequest =
  | { readonly kind: 'taken'; readonly standings: readonly LimitStanding[] }
  | { readonly kind: 'refused'; readonly refusal: LimitRefusal; readonly standings: readonly LimitStanding[] }

/** An answer that is given again runs no turn and costs nothing, but it is a request like any other. */
export function takeRequest({ books, ticks }: LedgerCore, limits: readonly AppliedLimit[]): TakenRequest {
  const counted = limits.filter(({ kind }) => kind === 'requests')
  const outcome = startUnderLimits(books, counted, ticks())
  const standings = standingsOf(books, limits, ticks())
  return outcome.kind === 'started' ? { kind: 'taken', standings } : { kind: 'refused', refusal: outcome, standings }
}
