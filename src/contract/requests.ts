import { z } from 'zod'
import { count, keyKind, line, money, moneyOrNull, pageOf, pageQuery, time, timeOrNull } from './values.ts'

const requestState = z.enum(['open', 'settled', 'released'])

const tokens = z.strictObject({
  uncached_input: count,
  cached_input: count,
  cache_write: count,
  output: count,
  /** Inside `output`. */
  reasoning: count,
  estimated: z.boolean(),
})

export const requestItem = z.strictObject({
  id: z.string(),
  state: requestState,
  /** How it ended: `completed`, `client_gone`, …; null while it runs. */
  outcome: z.string().nullable(),
  opened_at: time,
  closed_at: timeOrNull,
  model: z.string(),
  /** `provider/model` that answered. */
  lane: z.string().nullable(),
  key: z.strictObject({ id: z.string(), name: z.string() }),
  /** Who paid: the wallet, or the plan. */
  kind: keyKind,
  tokens: tokens.nullable(),
  first_byte_ms: count.nullable(),
  total_ms: count.nullable(),
  hold: money,
  charge: moneyOrNull,
})

export const requestsPage = pageOf(requestItem)
export const requestsQuery = z.strictObject({
  ...pageQuery.shape,
  key: line(80).optional(),
  model: line(200).optional(),
  outcome: z.enum(['ok', 'not_ok', 'running']).optional(),
  kind: keyKind.optional(),
})

/** One part of a price: so many tokens at so much a million. Lines add up to `cost`. */
export const chargeLine = z.strictObject({
  what: z.enum(['uncached_input', 'cached_input', 'cache_write', 'output', 'per_request']),
  tokens: count.nullable(),
  per_million: moneyOrNull,
  /** Exact: with more decimals than money has, before the one rounding. */
  amount: z.string(),
})

export const requestDetail = z.strictObject({
  ...requestItem.shape,
  cost: moneyOrNull,
  /** What it cost beyond its hold: nobody is charged for that. */
  shortfall: moneyOrNull,
  price_version: z.int(),
  /** `above_input_tokens` of the price that applied; 0 is the base price. */
  tier: z.int().nullable(),
  lines: z.array(chargeLine),
  output_cap: count,
  input_estimate: count,
  attempts: z.array(z.strictObject({ lane: z.string(), outcome: z.string(), status: z.int().nullable(), ms: count })),
  /** Paid as new input, because the lane that had it in its cache could not be asked. */
  cache_lost: z.strictObject({ tokens: count, cost: money }).nullable(),
  compaction: z.strictObject({ tokens_before: count, tokens_after: count }).nullable(),
  paid_by: z.strictObject({
    kind: z.enum(['wallet', 'plan']),
    plan: z.string().nullable(),
    windows: z.array(z.strictObject({ name: z.string(), start: time, end: time })),
    caps: z.array(z.strictObject({ name: z.string(), start: time, end: time })),
  }),
  /**
   * What a repetition under the same idempotency key is told, while that is remembered: to wait, the same answer again, or
   * that none is kept. Null: it came without one, or its time is over.
   */
  idempotency: z.strictObject({ state: z.enum(['running', 'kept', 'not-kept']), until: time }).nullable(),
  /** `movement` of the wallet's statement. */
  movement: z.int().nullable(),
})
