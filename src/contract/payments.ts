import { z } from 'zod'
import { amount, line, money, pageQuery, time, timeOrNull } from './values.ts'

/** A payment by card. `refunded` and `disputed` were taken back from the wallet, except `owed`, which it did not have. */
export const paymentItem = z.strictObject({
  id: z.string(),
  kind: z.enum(['top_up', 'automatic', 'plan']),
  state: z.enum(['open', 'failed', 'expired', 'paid']),
  amount: money,
  refunded: money,
  disputed: money,
  dispute: z.enum(['open', 'won', 'lost']).nullable(),
  owed: money,
  plan: z.string().nullable(),
  /** A page of the provider with the receipt or the invoice. */
  receipt_url: z.string().nullable(),
  failure: z.string().nullable(),
  created_at: time,
  paid_at: timeOrNull,
})

export const accountPayment = paymentItem.extend({ account: z.string(), email: z.string() })

/** `save_card`: automatic top-ups may charge it later. */
export const topUpBody = z.strictObject({ amount, save_card: z.boolean().default(false) })

/** `url`: the page of the provider on which the owner pays. */
export const startedPayment = z.strictObject({ payment: z.string(), url: z.string() })

/** When the balance is below `below`, `add` is charged, and at most `month_max` in a calendar month of UTC. */
export const automaticTopUpBody = z.strictObject({ on: z.boolean(), below: amount, add: amount, month_max: amount })

export const cardStatus = z.strictObject({
  /** Whether this server takes cards, and for which amounts. */
  enabled: z.boolean(),
  min: money,
  max: money,
  /** The saved card: `visa 4242`. */
  card: z.string().nullable(),
  automatic: z.strictObject({
    allowed: z.boolean(),
    on: z.boolean(),
    below: money,
    add: money,
    month_max: money,
    /** Charged in this month. */
    month_used: money,
    /** Why the last charge failed. After several it is off. */
    failure: z.string().nullable(),
    failed_at: timeOrNull,
  }),
})

export const buyPlanBody = z.strictObject({ plan: line(200) })
export const renewalBody = z.strictObject({ renews: z.boolean() })

/** The plans that can be bought, and those that were. */
export const plansSold = z.strictObject({
  items: z.array(
    z.strictObject({ plan: z.string(), windows: z.array(z.strictObject({ name: z.string(), allowance: money })) }),
  ),
  bought: z.array(
    z.strictObject({
      id: z.string(),
      plan: z.string(),
      status: z.string().nullable(),
      renews: z.boolean(),
      paid_until: timeOrNull,
    }),
  ),
})

/** `owed`: only payments of which the wallet could not give everything back. */
export const paymentsQuery = z.strictObject({ ...pageQuery.shape, owed: z.enum(['true', 'false']).optional() })

export const reconcileBody = z.strictObject({ days: z.int().min(1).max(90).optional() })

/** What a reconciliation with the provider has found and repaired. */
export const reconciliation = z.strictObject({
  /** Payments and disputes of the provider that were compared. */
  checked: z.int(),
  /** Those that are not of this server. */
  foreign: z.int(),
  differences: z.array(z.strictObject({ payment: z.string(), before: z.string(), after: z.string() })),
  /** What is missing after it, of all payments. */
  owed: money,
  /** What could not be compared or repaired. */
  failures: z.array(z.string()),
})
