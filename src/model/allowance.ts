import type { Cycle } from './cycle.ts'
import type { NanoUsd } from './money.ts'

/**
 * What money is counted in. A dollar of the wallet, a dollar's worth of a plan's allowance and a dollar counted against a
 * key's spend cap are three different things: no transfer ever joins two of them.
 */
export type Unit = 'usd' | 'quota' | 'cap'

/** An amount that may be used in each of its periods: a window of a plan, or a key's spend cap. */
export interface Allowance {
  /** Names the state that it is counted on, e.g. `window:5h` or `cap:17:day`; one an account. */
  readonly subject: string
  readonly unit: 'quota' | 'cap'
  /** What people call it: `5h`, `week`, `month`, `day`. */
  readonly name: string
  readonly cycle: Cycle
  readonly amount: NanoUsd
}
