import type { Cycle } from './cycle.ts'
import type { NanoUsd } from './money.ts'

/**
 * What the ledger counts in. A dollar of the wallet and a dollar's worth of a plan's allowance are two different things: no
 * transfer ever joins them.
 */
export type Unit = 'usd' | 'quota'

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
