import { type NanoUsd, parseUsd } from '../model/money.ts'
import { type Refused, refused } from './outcome.ts'

type ReadAmount = { readonly kind: 'read'; readonly amount: NanoUsd } | Refused

/** As for a spend cap: whoever writes more has mistyped. */
const AMOUNT_MAX = parseUsd('1000000')!

/** Of a code, or of a wish. */
export function readAmount(text: string): ReadAmount {
  const amount = parseUsd(text)
  if (amount !== undefined && amount > 0n && amount <= AMOUNT_MAX) return { kind: 'read', amount }
  return refused(
    'invalid_amount',
    `${JSON.stringify(text)} is not an amount: write USD above zero, at most 1000000, with at most 9 decimals, e.g. 10.00`,
  )
}
