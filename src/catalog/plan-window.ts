import type { Allowance } from '../model/allowance.ts'
import type { Cycle } from '../model/cycle.ts'
import type { NanoUsd } from '../model/money.ts'

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/**
 * What a window is called, and with it which ones are the same: `7d` and `168h` are one window, `7d` and `week` are two.
 * An account that changes to another plan goes on with the windows that both have.
 */
export function windowName(cycle: Cycle): string {
  if (cycle.kind !== 'anchored') return cycle.kind
  const [unit, ms] = UNITS.find(([, length]) => cycle.ms % length === 0) ?? (['ms', 1] as const)
  return `${cycle.ms / ms}${unit}`
}

export function planWindow(cycle: Cycle, amount: NanoUsd): Allowance {
  const name = windowName(cycle)
  return { subject: `window:${name}`, unit: 'quota', name, cycle, amount }
}
