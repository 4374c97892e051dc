import { z } from 'zod'
import { parseUsd } from '../../model/money.ts'
import { type Refused, refused } from '../outcome.ts'

/** A decimal string in USD, or null for no such cap. */
const cap = z.string().nullable().optional()

export const spendCapArgs = z.strictObject({ day: cap, month: cap })

/** Columns of a key; what was not named is not in here. */
export interface CapColumns {
  readonly cap_day_nano?: bigint | null
  readonly cap_month_nano?: bigint | null
}

type ReadCaps = { readonly kind: 'read'; readonly columns: CapColumns } | Refused

export function readCaps({ day, month }: z.output<typeof spendCapArgs>): ReadCaps {
  const wrong = [day, month].find((text) => typeof text === 'string' && amountOf(text) === null)
  if (typeof wrong === 'string') return unreadableCap(wrong)
  const columns = {
    ...(day !== undefined && { cap_day_nano: amountOf(day) }),
    ...(month !== undefined && { cap_month_nano: amountOf(month) }),
  }
  return { kind: 'read', columns }
}

/** As for an allowance of a plan. What caps grant is added up over all keys and periods, and a row holds an int64. */
const CAP_MAX = parseUsd('1000000')!

/** Null also for what is no amount above zero: a key that may spend nothing is a disabled one. */
function amountOf(text: string | null): bigint | null {
  const amount = text === null ? undefined : parseUsd(text)
  return amount === undefined || amount <= 0n || amount > CAP_MAX ? null : amount
}

const unreadableCap = (text: string): Refused =>
  refused(
    'invalid_amount',
    `${JSON.stringify(text)} is not a spend cap: write USD above zero, at most 1000000, with at most 9 decimals, e.g. 5.00; none takes a cap away`,
  )
