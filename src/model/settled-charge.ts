import type { NanoUsd } from './money.ts'
import type { Price } from './price.ts'
import type { MeteredUsage } from './usage.ts'

/** What the end of an answer tells about money; known only once the settle is durable. */
export interface SettledCharge {
  readonly usage: MeteredUsage
  readonly charge: NanoUsd
  readonly tier: number
  readonly price: Price
}
