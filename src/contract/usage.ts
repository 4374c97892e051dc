import { z } from 'zod'
import { count, keyKind, line, money, time } from './values.ts'

const usageBy = z.enum(['model', 'key', 'kind'])
const usageStep = z.enum(['hour', 'day', 'month'])

/** Days in `zone`, an IANA name; from the first moment of `from` until before `to`. */
export const usageQuery = z.strictObject({
  from: z.iso.date(),
  to: z.iso.date(),
  zone: line(64),
  step: usageStep,
  by: usageBy,
  model: line(200).optional(),
  key: line(80).optional(),
  kind: keyKind.optional(),
})

/** The same days, for what was refused before it began: nobody knows which model that would have asked. */
export const refusedTurnsQuery = usageQuery.omit({ by: true, model: true })

export const refusedTurnsAnswer = z.strictObject({
  /** Where each step begins: as in the usage of that range. */
  steps: z.array(time),
  /** The commonest first, by the code that clients were told. */
  reasons: z.array(z.strictObject({ code: z.string(), total: count, steps: z.array(count) })),
})

/** What was used: everything that ended in a span of time. */
export const used = z.strictObject({
  requests: count,
  /** Those of them that did not end as they should: failed, or left by their client. */
  failed: count,
  uncached_input: count,
  cached_input: count,
  cache_write: count,
  output: count,
  reasoning: count,
  /** Taken from the wallet. */
  wallet: money,
  /** Taken from the allowance of a plan. */
  plan: money,
})

const usageSeries = z.strictObject({
  /** A model, the id of a key, or a kind; null for all that the chart does not show one by one. */
  id: z.string().nullable(),
  name: z.string(),
  total: used,
  /** One for each step. */
  steps: z.array(used),
})

export const usageAnswer = z.strictObject({
  /** The range as instants, and everything that ended until then is counted in. */
  from: time,
  to: time,
  as_of: time,
  /** Where each step begins. */
  steps: z.array(time),
  total: used,
  total_steps: z.array(used),
  /** The largest by money, then by requests, then one for the rest. */
  series: z.array(usageSeries),
  /** Every one of them, for the table, in the same order; beyond five hundred one for the rest. */
  table: z.array(z.strictObject({ id: z.string().nullable(), name: z.string(), used })),
})
