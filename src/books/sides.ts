import type { Unit } from '../model/allowance.ts'
import type { BucketRow } from '../model/ids.ts'

/** The other sides of the double entry, of which each unit has its own: rows of the chart, made by the migrations. */
interface Sides {
  /** Where an amount comes from when it is put in, and where it goes when the operator takes it back. */
  readonly issued: BucketRow
  /** What was used: for dollars, revenue. */
  readonly used: BucketRow
}

const row = (number: number) => number as BucketRow

/**
 * Only the outside world (`usd.issued`) keeps a balance: it is bounded, and written by the operator's transfers alone. The
 * others are sums over entries and receipts that only grow, so no number of fixed size may hold them.
 */
export const SIDES: Readonly<Record<Unit, Sides>> = {
  usd: { issued: row(1), used: row(2) },
  quota: { issued: row(-11), used: row(-12) },
}

/** What was left of a window when it was closed. Dollars of a wallet never expire. */
export const EXPIRED: BucketRow = row(-13)

/** Rows of windows are numbered from here on: below are the wallets, which accounts bring with them. */
export const PERIOD_ROWS_FROM = 1_000_000_000
