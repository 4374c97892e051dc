import { type NanoUsd, parseUsd } from '../model/money.ts'
import { type Refused, refused } from './outcome.ts'

type ReadAmount = { readonly kind: 'read'; readonly amount: NanoUsd } | Refused

/** Whoever writes more has mistyped. What caps grant is added up over all keys and periods, and a row holds an int64. */
const AMOUNT_MAX = parseUsd('1000000')!

/** Of a code, of a wish, or of a spend cap. Zero is none: a key that may spend nothing is a disabled one. */
export function readAmount(text: string, param: 'amount' | 'caps.day' | 'caps.month' = 'amount'): ReadAmount {
  const amount = parseUsd(text)
  if (amount !== undefined && amount > 0n && amount <= AMOUNT_MAX) return { kind: 'read', amount }
  const [what, orNone] = param === 'amount' ? ['an amount', ''] : ['a spend cap', '; none takes a cap away']
  return refused(
    'invalid_amount',
    `${JSON.stringify(text)} is not ${what}: write USD above zero, at most 1000000, with at most 9 decimals, e.g. 10.00${orNone}`,
    { param },
  )
}
