import type { AppliedLimit } from '../../model/limit.ts'
import { isOpen, type NaiveFacts } from './naive-facts.fixture.ts'

const MINUTE_MICROS = 60_000_000

interface NaiveAsking {
  readonly limits: readonly AppliedLimit[]
  readonly nowMicros: number
}

export function limitedBy(facts: NaiveFacts, op: NaiveAsking): { readonly kind: string } | undefined {
  const waits: { readonly limit: AppliedLimit; readonly retryAfterMs: number }[] = []
  for (const limit of op.limits) {
    if (limit.kind === 'concurrent') {
      const running = facts.turns.filter(
        (turn) => isOpen(turn) && turn.limits.some(({ subject }) => subject === limit.subject),
      )
      if (running.length >= limit.limit) waits.push({ limit, retryAfterMs: 1000 })
      continue
    }
    if (limit.cost > limit.burst) return { kind: 'limit-too-small', ...{ limit } }
    const micros = MINUTE_MICROS / limit.limit
    const over = owedTo(facts, limit, op.nowMicros) + (limit.cost - limit.burst) * micros
    if (over > 0) waits.push({ limit, retryAfterMs: Math.ceil(over) / 1000 })
  }
  const longest = Math.max(...waits.map(({ retryAfterMs }) => retryAfterMs))
  const named = waits.find(({ retryAfterMs }) => retryAfterMs === longest)
  return named && { kind: 'limited', ...named }
}

/** How long, in microseconds, until everything that was taken is earned back. */
function owedTo({ rates }: NaiveFacts, { subject, limit }: AppliedLimit, nowMicros: number): number {
  let owed = 0
  let then = 0
  for (const fact of rates.filter((each) => each.subject === subject)) {
    const earned = Math.max(0, owed - (fact.nowMicros - then))
    owed = Math.max(0, earned + (fact.cost * MINUTE_MICROS) / limit)
    then = fact.nowMicros
  }
  return Math.max(0, owed - (nowMicros - then))
}
