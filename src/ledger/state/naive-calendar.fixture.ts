import type { Cycle } from '../../model/allowance.ts'

const DAY_MS = 86_400_000

/** Goes from midnight to midnight until one of them is the turn. */
export function endOfPeriod(cycle: Cycle, at: number, billingDay: number): number {
  if (cycle.kind === 'anchored') return at + cycle.ms
  const midnight = Date.parse(`${new Date(at).toISOString().slice(0, 10)}T00:00:00Z`)
  let next = midnight + DAY_MS
  while (!turnsAt(cycle, next, billingDay)) next += DAY_MS
  return next
}

function turnsAt(cycle: Exclude<Cycle, { kind: 'anchored' }>, midnight: number, billingDay: number): boolean {
  const date = new Date(midnight)
  if (cycle.kind === 'day') return true
  if (cycle.kind === 'week') return date.getUTCDay() === 1
  const isLastOfMonth = new Date(midnight + DAY_MS).getUTCDate() === 1
  const day = cycle.day === 'billing' ? billingDay : cycle.day
  return date.getUTCDate() === day || (isLastOfMonth && date.getUTCDate() < day)
}
