import type { Allowance } from './allowance.ts'
import type { KeyRow } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** What one key may spend at most, in a day and in a calendar month of UTC. Null or undefined: no such cap. */
export interface SpendCaps {
  readonly day?: bigint | null | undefined
  readonly month?: bigint | null | undefined
}

/** The caps of a key as what a turn draws on. They count from 00:00 UTC, the month from its first day. */
export function allowancesOfCaps(key: KeyRow, { day, month }: SpendCaps): Allowance[] {
  const caps: Allowance[] = []
  if (day != null) caps.push({ ...capOf(key, 'day', day), cycle: { kind: 'day' } })
  if (month != null) caps.push({ ...capOf(key, 'month', month), cycle: { kind: 'month', day: 1 } })
  return caps
}

const capOf = (key: KeyRow, name: 'day' | 'month', amount: bigint) => ({
  subject: subjectOfCap(key, name),
  unit: 'cap' as const,
  name,
  amount: amount as NanoUsd,
})

/** Names the counter of a key's spend cap. */
export const subjectOfCap = (key: KeyRow, name: string): string => `cap:${key}:${name}`
