import { z } from 'zod'
import { count, keyKind, line, money, moneyOrNull, note, pageOf, pageQuery, time, timeOrNull } from './values.ts'

/** What operators see of the whole server, and the invoice of an account. */

/** Days in an IANA `zone`, from the first moment of `from` until before `to`. */
const days = { from: z.iso.date(), to: z.iso.date(), zone: line(64) }

export const servedQuery = z.strictObject({ ...days, step: z.enum(['hour', 'day', 'month']) })

/** What was served: requests that ended in a period. */
const served = z.strictObject({
  requests: count,
  /** Failed, or abandoned by their client. */
  failed: count,
  /** Requests for which more than one lane was called. */
  failovers: count,
  /** Charged requests whose lane has no `cost`: they are missing in `cost` and raise the margin. */
  unpriced: count,
  input: count,
  output: count,
  /** Charged to wallets. */
  revenue: money,
  /** Counted against plans, which is no revenue. */
  plan: money,
  /** What providers charge for the requests of wallets, and of plans, by the `cost` of the lanes. */
  cost: money,
  plan_cost: money,
  /** `revenue` less `cost`. */
  margin: money,
})

/** Times in milliseconds, rounded down to steps of at most a fortieth; null without a completed request. */
const percentiles = z.strictObject({ requests: count, p50: count.nullable(), p95: count.nullable() })

export const servedAnswer = z.strictObject({
  from: time,
  to: time,
  /** Everything that ended until then is counted, if it is `complete`: after an upgrade older requests may still be missing. */
  as_of: time,
  complete: z.boolean(),
  /** The starts of the steps. */
  steps: z.array(time),
  total: served,
  total_steps: z.array(served),
  /** Of completed requests: until their first content, and as a whole. */
  latency: z.strictObject({ first: percentiles, total: percentiles }),
  /** The largest by charges, then one for the rest. */
  models: z.array(z.strictObject({ id: z.string().nullable(), served })),
  accounts: z.array(z.strictObject({ id: z.string().nullable(), email: z.string(), served })),
})

/** The calls of a lane in a time. A call that the client or the request ended is in neither number. */
const laneCalls = z.strictObject({
  succeeded: count,
  failed: count,
  /** Of successful calls, in milliseconds. */
  p50: count.nullable(),
  p95: count.nullable(),
  /** The newest failed call: how it failed, and the status of the provider's answer. */
  last_error: z.strictObject({ at: time, error: z.string(), status: z.int().nullable() }).nullable(),
})

export const laneCallsAnswer = z.strictObject({
  as_of: time,
  /** Lanes that were called in the last 24 hours. */
  items: z.array(z.strictObject({ lane: z.string(), hour: laneCalls, day: laneCalls })),
})

/** A whole month of `zone`, or days of it. */
export const invoiceQuery = z.strictObject({
  month: z
    .string()
    .regex(/^\d{4}-\d\d$/, 'is not a month such as 2026-11')
    .optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  zone: line(64).optional(),
})

const invoiceLine = z.strictObject({
  /** A day of the zone. */
  day: z.string(),
  model: z.string(),
  requests: count,
  uncached_input: count,
  cached_input: count,
  cache_write: count,
  output: count,
  /** Charged to the wallet. */
  amount: money,
  /** Counted against a plan, which the wallet does not pay. */
  plan: money,
})

export const invoiceAnswer = z.strictObject({
  account: z.strictObject({ id: z.string(), email: z.string() }),
  currency: z.literal('USD'),
  from: time,
  to: time,
  zone: z.string(),
  first_day: z.string(),
  last_day: z.string(),
  as_of: time,
  /** The balance of the wallet before the range. */
  opening: money,
  /** Credits, refunds and adjustments, oldest first, with their signs. */
  transfers: z.array(
    z.strictObject({
      movement: z.int(),
      at: time,
      kind: z.string(),
      amount: money,
      ref: z.string(),
      reason: z.string(),
    }),
  ),
  lines: z.array(invoiceLine),
  /** `opening` + `transferred` - `charged` = `closing`; the lines add up to `charged` and `plan`. */
  totals: z.strictObject({
    requests: count,
    transferred: money,
    charged: money,
    plan: money,
    /** `charged` in whole cents, and what that added: the only rounding of an invoice. */
    charged_in_cents: money,
    rounding: money,
  }),
  closing: money,
})

const requestStatus = z.enum(['ok', 'not_ok', 'running'])

/** Requests of all accounts by when they began. A sparse filter makes pages short instead of slow; `next` goes on. */
const requestFilter = z.strictObject({
  account: line(320).optional(),
  model: line(200).optional(),
  /** `provider/model` that answered. */
  lane: line(400).optional(),
  key: line(80).optional(),
  status: requestStatus.optional(),
  kind: keyKind.optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  zone: line(64).optional(),
  /** In USD: requests that were charged this or more. */
  min_charge: note(30).optional(),
  /** The whole id of a request. */
  id: line(80).optional(),
})
export const allRequestsQuery = requestFilter.extend(pageQuery.shape)
export const allRequestsExportQuery = requestFilter

const operatedRequest = z.strictObject({
  id: z.string(),
  state: z.enum(['open', 'settled', 'released']),
  outcome: z.string().nullable(),
  opened_at: time,
  closed_at: timeOrNull,
  account: z.strictObject({ id: z.string(), email: z.string() }),
  key: z.strictObject({ id: z.string(), name: z.string() }),
  kind: keyKind,
  model: z.string(),
  lane: z.string().nullable(),
  lanes_called: count,
  input: count.nullable(),
  output: count.nullable(),
  first_byte_ms: count.nullable(),
  total_ms: count.nullable(),
  charge: moneyOrNull,
  /** What the provider charges, by the `cost` of its lane. */
  cost: moneyOrNull,
})
export const allRequestsPage = pageOf(operatedRequest)
