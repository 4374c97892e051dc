import { decimalOf, nanoOf } from '../../lib/nano.ts'

/** So many of one amount, exactly. */
export const timesMoney = (amount: string, count: number): string => decimalOf(nanoOf(amount) * BigInt(count))
