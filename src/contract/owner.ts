import { z } from 'zod'
import { SEARCH_TERMS_MAX, searchTerms } from '../lib/anywhere/words-of-search.ts'
import {
  amount,
  count,
  keyKind,
  line,
  moment,
  money,
  moneyOrNull,
  note,
  pageOf,
  pageQuery,
  time,
  timeOrNull,
} from './values.ts'

const keyState = z.enum(['active', 'disabled', 'expired', 'revoked'])

const cap = amount.nullable().optional()

/** What it may spend in a day or a month of UTC. What is absent stays as it is; null takes a cap away. */
export const keyCaps = z.strictObject({ day: cap, month: cap })
const rate = z.int().positive().max(1_000_000_000_000).nullable().optional()
const keyLimits = z.strictObject({ requests_per_minute: rate, tokens_per_minute: rate, concurrent: rate })

/** How much of what a key may spend is gone. */
const capStanding = z.strictObject({
  /** `day` or `month`. */
  name: z.string(),
  limit: money,
  used: money,
  held: money,
  left: money,
  start: time,
  end: time,
})

export const keyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: keyKind,
  /** Its beginning and its end: all that is left of it. */
  shown: z.string(),
  state: keyState,
  /** Belongs to the console's playground: no program can use it. */
  playground: z.boolean(),
  /** Ids and globs; null admits every model of its kind. */
  models: z.array(z.string()).nullable(),
  limits: z.strictObject({
    requests_per_minute: count.nullable(),
    tokens_per_minute: count.nullable(),
    concurrent: count.nullable(),
  }),
  caps: z.array(capStanding),
  created_at: time,
  last_used_at: timeOrNull,
  expires_at: timeOrNull,
  /** While a rotation lasts: the former secret still works until then. */
  former: z.strictObject({ shown: z.string(), until: time }).nullable(),
})

/** In a list: of its models how many there are and the first of them, so that no page of keys grows without an end. */
export const listedKey = keyItem.extend({
  models: z.strictObject({ count, first: z.array(z.string()) }).nullable(),
})

/** All that a key is about, but for its secret. What is absent stays as it is; null takes it away. */
const keyTerms = z.strictObject({
  name: line(100),
  /** Ids and globs; null: every model of its kind. */
  models: z.array(line(200)).min(1).max(500).nullable().optional(),
  caps: keyCaps.optional(),
  limits: keyLimits.optional(),
  /** Null: never. */
  expires: moment.nullable().optional(),
})
/** As they are told when some of them change. */
export type KeyTerms = Omit<z.output<typeof changeKeyBody>, 'disabled'>

/** `search`: every word of it is in what a key is called or shown by, or in one of its models, whatever its case. */
export const keysQuery = z.strictObject({
  ...pageQuery.shape,
  search: note(200)
    .refine((text) => searchTerms(text).length <= SEARCH_TERMS_MAX, `has more than ${SEARCH_TERMS_MAX} different words`)
    .optional(),
})

export const createKeyBody = keyTerms.extend({ kind: keyKind })
export const changeKeyBody = keyTerms.partial({ name: true }).extend({ disabled: z.boolean().optional() })
export const renameKeyBody = keyTerms.pick({ name: true })

/** How long the former secret goes on working: `0`, or a span such as `1h`, `24h`, `7d`. */
export const rotateKeyBody = z.strictObject({ grace: z.string().max(10) })

/** The secret is told this once and stored nowhere. */
export const madeKey = z.strictObject({ key: keyItem, secret: z.string() })

const rates = z.strictObject({
  above_input_tokens: count,
  input: moneyOrNull,
  cached_input: moneyOrNull,
  cache_write: moneyOrNull,
  output: moneyOrNull,
})

export const modelItem = z.strictObject({
  id: z.string(),
  /** Ids with an effort suffix. */
  variants: z.array(z.string()),
  /** Null: any effort is passed on. Empty: the model has none. */
  efforts: z.array(z.string()).nullable(),
  inputs: z.array(z.string()),
  context_tokens: count,
  max_output_tokens: count,
  kinds: z.array(keyKind),
  /** USD per million tokens, the base price first; null: nobody may call it yet. */
  price: z.strictObject({ tiers: z.array(rates), per_request: moneyOrNull }).nullable(),
  /** Whether it would be answered now; never why, nor by whom: that is the operator's. */
  available: z.boolean(),
  demo: z.boolean(),
})

export const modelsAnswer = z.strictObject({ items: z.array(modelItem) })

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
export const requestFundingBody = z.strictObject({ amount, note: note(500) })

export const window = z.strictObject({
  /** `5h`, `7d`, `week`, `month`: what the plan calls it. */
  name: z.string(),
  /** One that nobody has used has not opened, and so has no times. */
  opened: z.boolean(),
  /** To be asked for its rows; null while it has not opened. */
  id: z.string().nullable(),
  start: timeOrNull,
  end: timeOrNull,
  limit: money,
  used: money,
  held: money,
  left: money,
  /** That have held on it; null when they are more than are counted for a page. */
  requests: count.nullable(),
})

export const planAnswer = z.strictObject({
  state: z.enum(['none', 'active', 'ended', 'not_configured']),
  plan: z.string().nullable(),
  since: timeOrNull,
  until: timeOrNull,
  billing_day: z.int().nullable(),
  /** The models that builder keys may call, by their base ids. */
  models: z.array(z.string()),
  windows: z.array(window),
  /** What was used of windows that are over, or that no plan of the account has any more; those that end last come first. */
  past: z.array(
    z.strictObject({ id: z.string(), name: z.string(), start: timeOrNull, end: timeOrNull, limit: money, used: money }),
  ),
})

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

/** The requests that make the bar: their charges add up to `used`, their holds to `held`. */
export const windowRows = z.strictObject({
  window,
  items: z.array(requestItem),
  next: z.string().nullable(),
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

export const overviewAnswer = z.strictObject({
  wallet,
  plan: z.strictObject({
    state: planAnswer.shape.state,
    plan: planAnswer.shape.plan,
    windows: planAnswer.shape.windows,
  }),
  recent: z.array(requestItem),
  keys: z.strictObject({ active: count, total: count }),
  /** A model to begin with, for an account that has asked nothing yet. */
  suggested_model: z.string().nullable(),
})

export const latelyUsedQuery = z.strictObject({ zone: line(64) })

/** Asked apart from the rest: what is wrong with the roll-ups must not hide the money. */
export const latelyUsed = z.strictObject({
  /** Since midnight in `zone`. */
  today: used,
  /** In the same time: refused before they began, so that they are in no receipt. */
  refused_today: count,
  /** The last 24 hours, hour by hour. */
  hours: z.array(z.strictObject({ from: time, used })),
})
