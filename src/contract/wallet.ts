import { z } from 'zod'
import { amount, line, money, moneyOrNull, note, pageQuery, time } from './values.ts'

export const wallet = z.strictObject({ balance: money, held: money, available: money })

/** A wish for funds that the operator has not answered yet. */
export const wish = z.strictObject({ amount: money, note: z.string(), at: time })

/** `held` by requests that run now. */
export const walletAnswer = z.strictObject({
  ...wallet.shape,
  running: z.int().nonnegative(),
  asked: wish.nullable(),
})

/** `charge`: a request. The others are the operator's, or a code that was redeemed. */
const movementKind = z.enum(['charge', 'credit', 'refund', 'adjustment'])

/** One line of the statement. Lines are numbered by account; what moved an allowance has its number elsewhere. */
export const movement = z.strictObject({
  movement: z.int().positive(),
  at: time,
  kind: movementKind,
  /** Signed: a charge is negative. */
  amount: money,
  /** The balance behind it; null where it is not known any more. */
  balance: moneyOrNull,
  /** The request or the operator's reference that caused it. */
  ref: z.string(),
  reason: z.string(),
  model: z.string().nullable(),
  key: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
})

/** From the first moment of `from` until before `to`, both days (`2026-11-22`) in `zone`. */
const rangeFields = { from: z.iso.date().optional(), to: z.iso.date().optional(), zone: line(64).optional() }

export const statementQuery = z.strictObject({
  ...pageQuery.shape,
  ...rangeFields,
  kind: movementKind.optional(),
})
export const statementExportQuery = z.strictObject({ ...rangeFields, kind: movementKind.optional() })

export const redeemBody = z.strictObject({ code: line(100) })
export const redeemed = z.strictObject({ amount: money, wallet })
export const askForFundsBody = z.strictObject({ amount, note: note(500) })
