import type { Allowance, Cycle } from './allowance.ts'
import type { NanoUsd } from './money.ts'

/** What a plan grants for a while. */
export const quotaOf = (name: string, cycle: Cycle, amount: bigint): Allowance => ({
  subject: `window:${name}`,
  unit: 'quota',
  name,
  cycle,
  amount: amount as NanoUsd,
})

/** What a key itself may spend. */
export const spendCapOf = (key: number, name: 'day' | 'month', amount: bigint): Allowance => ({
  subject: `cap:${key}:${name}`,
  unit: 'cap',
  name,
  cycle: name === 'day' ? { kind: 'day' } : { kind: 'month', day: 1 },
  amount: amount as NanoUsd,
})
