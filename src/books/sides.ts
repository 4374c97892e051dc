import type { Unit } from '../model/allowance.ts'
import type { BucketRow } from '../model/ids.ts'

/** The other sides of the double entry, of which each unit has its own. Rows of the ledger, made by its migrations. */
interface Sides {
  /** Where an amount comes from when it is put in, and where it goes when the operator takes it back. */
  readonly issued: BucketRow
  /** What was used: for dollars, revenue. */
  readonly used: BucketRow
}

const row = (number: number) => number as BucketRow

export const SIDES: Readonly<Record<Unit, Sides>> = {
  usd: { issued: row(1), used: row(2) },
  quota: { issued: row(-11), used: row(-12) },
  cap: { issued: row(-21), used: row(-22) },
}

/** What a period ended with. Dollars of a wallet never expire. */
export const EXPIRED: Readonly<Record<'quota' | 'cap', BucketRow>> = { quota: row(-13), cap: row(-23) }

/** Rows of periods are numbered from here on: below are the wallets, which accounts bring with them. */
export const PERIOD_ROWS_FROM = 1_000_000_000
