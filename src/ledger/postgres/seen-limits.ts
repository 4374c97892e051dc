import { type Books, createBooks } from '../../books/books.ts'
import { forgetEarnedBackRates, standingsOf } from '../../books/turn-limits.ts'
import type { AppliedLimit, LimitStanding } from '../../model/limit.ts'
import type { LimitStates } from './admit-row.ts'

/**
 * How limits stood when this node last heard of them. Only headers are written by it; whether a turn passes is the
 * database's decision, on the database's clock, which this node's is set against with every answer.
 */
export interface SeenLimits {
  learn(limits: readonly AppliedLimit[], states: LimitStates): LimitStanding[]
  standings(limits: readonly AppliedLimit[]): LimitStanding[]
  tidy(): void
}

export function createSeenLimits(ticks: () => number): SeenLimits {
  const seen: Pick<Books, 'rates' | 'running'> = createBooks({ receipt: 1, transfer: 1, bucket: 1, subscription: 1 })
  const books = seen as Books
  let aheadMicros = 0
  return {
    learn(limits, states) {
      aheadMicros = states.ticks - ticks()
      for (const [index, { subject, kind }] of limits.entries()) {
        const state = states.limits[index]
        if (!state) continue
        if (kind === 'concurrent') books.running.set(subject, state.running)
        else books.rates.set(subject, state.reachedAt)
      }
      return standingsOf(books, limits, states.ticks)
    },
    standings: (limits) => standingsOf(books, limits, ticks() + aheadMicros),
    tidy: () => forgetEarnedBackRates(books, ticks() + aheadMicros),
  }
}
