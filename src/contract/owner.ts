import { z } from 'zod'
import { SEARCH_TERMS_MAX, searchTerms } from '../lib/anywhere/text.ts'
import { parseUsd } from '../model/money.ts'
import { PRICED_FIELDS } from '../model/price.ts'
import { isSpan } from '../model/run.ts'
import { isTag } from '../model/tags.ts'
import { capStatus, caps } from './caps.ts'
import {
  amount,
  count,
  keyKind,
  line,
  moment,
  money,
  moneyOrNull,
  named,
  network,
  note,
  pageOf,
  pageQuery,
  time,
  timeOrNull,
} from './values.ts'

const BUDGET_MAX = parseUsd('1000000')!
function isBudget(text: string): boolean {
  const budget = parseUsd(text)
  return budget !== undefined && budget > 0n && budget <= BUDGET_MAX
}

const keyState = z.enum(['active', 'disabled', 'expired', 'revoked'])

const limit = z.int().positive().max(1_000_000_000_000).nullable().optional()
const keyLimits = z.strictObject({ requests_per_minute: limit, tokens_per_minute: limit, concurrent: limit })

/** Of a window: `used`, `held` and `left` add up to `limit`. */
const amounts = { limit: money, used: money, held: money, left: money }

const whole = z.int().positive().max(1_000_000_000_000).optional()
/** `required`: each request names a run. Otherwise each conversation is a run by itself, with at least one bound. */
const runRule = z.union(
  [
    z.literal('required'),
    z.strictObject({
      each_conversation: z
        .strictObject({
          max: z
            .string()
            .max(30)
            .refine(isBudget, 'is not an amount in USD above 0, such as 0.50, with at most 9 decimals')
            .optional(),
          max_requests: whole,
          max_tokens: whole,
          ends: z.string().refine(isSpan, 'is not a span such as 45m, 2h or 7d').optional(),
        })
        .refine(
          ({ max, max_requests, max_tokens }) => [max, max_requests, max_tokens].some((bound) => bound !== undefined),
          'needs max, max_requests or max_tokens',
        ),
    }),
  ],
  { error: 'must be required, or each_conversation with max, max_requests, max_tokens or ends, such as max 0.50' },
)

const stepDown = z.strictObject({ to: line(250), below_percent: z.int().min(0).max(100).default(0) })

export const keyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: keyKind,
  /** Its beginning and its end. The rest is not stored. */
  shown: z.string(),
  state: keyState,
  /** The key of the console's playground, which has no secret. */
  playground: z.boolean(),
  /** Ids and globs; null admits every model of its kind. */
  models: z.array(z.string()).nullable(),
  limits: z.strictObject({
    requests_per_minute: count.nullable(),
    tokens_per_minute: count.nullable(),
    concurrent: count.nullable(),
  }),
  /** Its own. */
  caps: z.array(capStatus),
  /** The only client addresses and networks that may use it; null: any. */
  addresses: z.array(z.string()).nullable(),
  /** Whether its requests need a run, or which budget each conversation gets by itself; null: neither. */
  run: runRule.nullable(),
  /** The cheaper model that it uses near a cap; null: that of the model which is asked for, if it has one. */
  step_down: stepDown.nullable(),
  /** Of its person and its team, which their other keys share. */
  shared: z.array(capStatus),
  /** Whose key it is, for life. */
  person: z.strictObject({ id: z.string(), email: z.string() }).nullable(),
  team: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  created_at: time,
  last_used_at: timeOrNull,
  expires_at: timeOrNull,
  /** After a rotation: the former secret works until then. */
  former: z.strictObject({ shown: z.string(), until: time }).nullable(),
})

/** In a list, only the number of models and the first ones, to bound the page. */
export const listedKey = keyItem.omit({ shared: true }).extend({
  models: z.strictObject({ count, first: z.array(z.string()) }).nullable(),
})

/** The terms of a key. Absent terms stay; null removes one. */
const keyTerms = z.strictObject({
  name: line(100),
  /** Ids and globs; null: every model of its kind. */
  models: z.array(line(200)).min(1).max(500).nullable().optional(),
  caps: caps.optional(),
  limits: keyLimits.optional(),
  /** The only client addresses and networks that may use the key; null: any. */
  addresses: z.array(network).min(1).max(32).nullable().optional(),
  /** `required`, or the budget that each conversation gets by itself; null: neither. */
  run: runRule.nullable().optional(),
  /** A cheaper model near a cap; null: that of the model which is asked for, if it has one. */
  step_down: stepDown.nullable().optional(),
  /** Null: never. */
  expires: moment.nullable().optional(),
})
export type KeyTerms = Omit<z.output<typeof changeKeyBody>, 'disabled'>

/** `search`: every word must occur in the name, the shown secret or a model of the key, in any case. */
export const keysQuery = z.strictObject({
  ...pageQuery.shape,
  search: note(200)
    .refine((text) => searchTerms(text).length <= SEARCH_TERMS_MAX, `has more than ${SEARCH_TERMS_MAX} different words`)
    .optional(),
  /** Only keys of this person or of this team (ids). */
  person: named.optional(),
  team: named.optional(),
})

/** Whose key it is, for life: a person (email or id) and a team (id or name) of the account. Their caps count for it beside its own. */
const keyOwners = { person: named.optional(), team: named.optional() }

export const createKeyBody = keyTerms.extend({ kind: keyKind, ...keyOwners })
export const changeKeyBody = keyTerms.partial({ name: true }).extend({ disabled: z.boolean().optional() })
export const renameKeyBody = keyTerms.pick({ name: true })

/** How long the former secret works: `0`, or a span such as `1h`, `24h`, `7d`. */
export const rotateKeyBody = z.strictObject({ grace: z.string().max(10) })

/** The secret is returned once and stored nowhere. */
export const madeKey = z.strictObject({ key: keyItem, secret: z.string() })

const tokenPrices = z.strictObject({
  above_input_tokens: count,
  input: moneyOrNull,
  cached_input: moneyOrNull,
  cache_write: moneyOrNull,
  output: moneyOrNull,
})

const modelItem = z.strictObject({
  id: z.string(),
  /** Ids with an effort suffix. */
  variants: z.array(z.string()),
  /** Null: any effort is passed on. Empty: the model has none. */
  efforts: z.array(z.string()).nullable(),
  inputs: z.array(z.string()),
  context_tokens: count,
  max_output_tokens: count,
  kinds: z.array(keyKind),
  /** USD per million tokens, the base price first; null: the model cannot be called. */
  price: z
    .strictObject({
      tiers: z.array(tokenPrices),
      per_request: moneyOrNull,
      /** By field and value: `{ service_tier: { priority: "2.00" } }`. */
      multipliers: z.record(z.string(), z.record(z.string(), z.string())).nullable(),
    })
    .nullable(),
  /** Whether a lane is available now. The reason and the lane are visible to operators only. */
  available: z.boolean(),
  demo: z.boolean(),
  /** Of all accounts in the last 24 hours; null where there were fewer than 20 requests. */
  day: z.strictObject({
    success_percent: z.number().min(0).max(100).nullable(),
    first_ms: count.nullable(),
    tokens_per_second: count.nullable(),
  }),
})

export const modelsAnswer = z.strictObject({ items: z.array(modelItem) })

export const wallet = z.strictObject({ balance: money, held: money, available: money })

/** A funding request that no credit has answered yet. */
export const fundingRequest = z.strictObject({ amount: money, note: z.string(), at: time })

/** `running` requests hold `held`. */
export const walletAnswer = z.strictObject({
  ...wallet.shape,
  running: z.int().nonnegative(),
  asked: fundingRequest.nullable(),
})

/** `charge`: a request. Others come from the operator or a redeemed code. */
const movementKind = z.enum(['charge', 'credit', 'refund', 'adjustment'])

/** One line of the wallet's statement, numbered per account. Movements of allowances take numbers in between. */
export const movement = z.strictObject({
  /** Of several charges, the last one's. */
  movement: z.int().positive(),
  at: time,
  /** `charges`: those of a day, between two other movements. */
  kind: z.enum([...movementKind.options, 'charges']),
  /** Signed: a charge is negative. */
  amount: money,
  /** The balance after it; null if it is no longer known. */
  balance: moneyOrNull,
  /** The request id, the operator's reference, or the day of several charges. */
  ref: z.string(),
  reason: z.string(),
  model: z.string().nullable(),
  key: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
  /** Of several charges: how many requests of the wallet ended, with those that cost nothing. */
  requests: count.nullable(),
})

/** From the first moment of `from` until before `to`, both days (`2026-11-22`) in `zone`. */
const rangeFields = { from: z.iso.date().optional(), to: z.iso.date().optional(), zone: line(64).optional() }

/** `by: day`: the charges of a day in `zone`, between two other movements, are one line. */
export const statementExportQuery = z.strictObject({
  ...rangeFields,
  kind: movementKind.optional(),
  by: z.literal('day').optional(),
})
export const statementQuery = statementExportQuery.extend(pageQuery.shape)

export const redeemBody = z.strictObject({ code: line(100) })
export const redeemed = z.strictObject({ amount: money, wallet })
export const requestFundingBody = z.strictObject({ amount, note: note(500) })

export const window = z.strictObject({
  /** `5h`, `7d`, `week`, `month`. */
  name: z.string(),
  /** An unused window has not opened and has no times. */
  opened: z.boolean(),
  /** For `GET /plan/windows/:window`; null before it opens. */
  id: z.string().nullable(),
  start: timeOrNull,
  end: timeOrNull,
  ...amounts,
  /** Requests that held on it; null if there are too many to count. */
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
  /** Used windows that are over or no longer in the plan, the last one first. */
  past: z.array(
    window.pick({ name: true, start: true, end: true, limit: true, used: true }).extend({ id: z.string() }),
  ),
})

const requestState = z.enum(['open', 'settled', 'released'])

const tokens = z.strictObject({
  uncached_input: count,
  cached_input: count,
  cache_write: count,
  output: count,
  /** Part of `output`. */
  reasoning: count,
  estimated: z.boolean(),
})

const requestItem = z.strictObject({
  id: z.string(),
  state: requestState,
  /** `completed`, `client_gone`, …; null while it runs. */
  outcome: z.string().nullable(),
  opened_at: time,
  closed_at: timeOrNull,
  model: z.string(),
  /** `provider/model` that answered. */
  lane: z.string().nullable(),
  key: z.strictObject({ id: z.string(), name: z.string() }),
  /** Paid by the wallet or by the plan. */
  kind: keyKind,
  tokens: tokens.nullable(),
  first_byte_ms: count.nullable(),
  total_ms: count.nullable(),
  hold: money,
  charge: moneyOrNull,
})

export const requestsPage = pageOf(requestItem)

/** The requests of a window: their charges add up to `used`, their holds to `held`. */
export const windowRows = requestsPage.extend({ window })

export const requestsQuery = z.strictObject({
  ...pageQuery.shape,
  /** Only requests that ended in these days. */
  ...rangeFields,
  key: line(80).optional(),
  model: line(200).optional(),
  outcome: z.enum(['ok', 'not_ok', 'running']).optional(),
  kind: keyKind.optional(),
  /** `repo:millrace` of the header `x-millrace-tags: repo=millrace`. */
  tag: line(100).refine(isTag, 'is not a tag such as repo:millrace').optional(),
})

/** One part of a cost. The lines add up to `cost`. */
export const chargeLine = z.strictObject({
  what: z.enum(['uncached_input', 'cached_input', 'cache_write', 'output', 'per_request', ...PRICED_FIELDS]),
  tokens: count.nullable(),
  per_million: moneyOrNull,
  /** For a field that multiplied the tokens' cost so far: its amount is the difference. */
  multiplied_by: z.strictObject({ value: z.string(), factor: z.string() }).nullable(),
  /** Exact, before the one rounding. */
  amount: z.string(),
})

export const requestDetail = z.strictObject({
  ...requestItem.shape,
  cost: moneyOrNull,
  /** The cost beyond its hold, which is not charged. */
  shortfall: moneyOrNull,
  price_version: z.int(),
  /** `above_input_tokens` of the price that applied; 0 is the base price. */
  tier: z.int().nullable(),
  lines: z.array(chargeLine),
  output_cap: count,
  input_estimate: count,
  /** By name; null without any. */
  tags: z.record(z.string(), z.string()).nullable(),
  attempts: z.array(z.strictObject({ lane: z.string(), outcome: z.string(), status: z.int().nullable(), ms: count })),
  /** Input paid as new, because the lane that had cached it was not available. */
  cache_lost: z.strictObject({ tokens: count, cost: money }).nullable(),
  compaction: z.strictObject({ tokens_before: count, tokens_after: count }).nullable(),
  paid_by: z.strictObject({
    kind: z.enum(['wallet', 'plan']),
    plan: z.string().nullable(),
    windows: z.array(z.strictObject({ name: z.string(), start: time, end: time })),
    /** Of the key, its person and its team. */
    caps: z.array(
      z.strictObject({
        name: z.string(),
        holder: z.enum(['key', 'person', 'team']),
        start: timeOrNull,
        end: timeOrNull,
      }),
    ),
  }),
  /** The answer to a repetition under the same idempotency key. Null: it had no key, or its retention is over. */
  idempotency: z.strictObject({ state: z.enum(['running', 'kept', 'not-kept']), until: time }).nullable(),
  /** Its number in the wallet's statement. */
  movement: z.int().nullable(),
})

/** `tag:repo`: by the values of a tag. A client names each of its values as it likes. */
const usageBy = z.union([
  z.enum(['model', 'key', 'kind', 'person', 'team']),
  z.templateLiteral(['tag:', z.string().regex(/^[a-z][a-z0-9_.-]{0,31}$/)]),
])
const usageStep = z.enum(['hour', 'day', 'month'])

/** Days in an IANA `zone`, from the first moment of `from` until before `to`. */
export const usageQuery = z.strictObject({
  from: z.iso.date(),
  to: z.iso.date(),
  zone: line(64),
  step: usageStep,
  by: usageBy,
  model: line(200).optional(),
  key: line(80).optional(),
  kind: keyKind.optional(),
  /** Only the keys of this team (id). */
  team: named.optional(),
})

/** Refused requests have no model. */
export const refusedTurnsQuery = usageQuery.omit({ by: true, model: true, team: true })

export const refusedTurnsAnswer = z.strictObject({
  /** The starts of the steps, as in the usage of the range. */
  steps: z.array(time),
  /** By problem code, the most frequent first. */
  reasons: z.array(z.strictObject({ code: z.string(), total: count, steps: z.array(count) })),
})

/** The usage of requests that ended in a period. */
const used = z.strictObject({
  requests: count,
  /** Failed, or abandoned by their client. */
  failed: count,
  uncached_input: count,
  cached_input: count,
  cache_write: count,
  output: count,
  reasoning: count,
  /** Charged to the wallet. */
  wallet: money,
  /** Charged to a plan. */
  plan: money,
})

const usageSeries = z.strictObject({
  /** A model, a key id or a kind; null for the rest. */
  id: z.string().nullable(),
  name: z.string(),
  total: used,
  /** One per step. */
  steps: z.array(used),
})

export const usageAnswer = z.strictObject({
  /** The range as instants; `as_of`: everything that ended until then is counted. */
  from: time,
  to: time,
  as_of: time,
  /** The starts of the steps. */
  steps: z.array(time),
  total: used,
  total_steps: z.array(used),
  /** The largest by money, then by requests, then one for the rest. */
  series: z.array(usageSeries),
  /** All of them in the same order; beyond 500, one row for the rest. */
  table: z.array(z.strictObject({ id: z.string().nullable(), name: z.string(), used })),
})

export const overviewAnswer = z.strictObject({
  /** Null for a member. */
  wallet: wallet.nullable(),
  /** Null for a member. */
  plan: planAnswer.pick({ state: true, plan: true, windows: true }).nullable(),
  recent: z.array(requestItem),
  keys: z.strictObject({ active: count, total: count }),
  /** What is left of the caps of the signed-in person, across all of their keys. */
  own_caps: z.array(capStatus),
  /** A model for the first request of a new account. */
  suggested_model: z.string().nullable(),
})

export const latelyUsedQuery = z.strictObject({ zone: line(64) })

/** Separate from the overview, so that a failure of the totals does not hide the money. */
export const latelyUsed = z.strictObject({
  /** Since midnight in `zone`. */
  today: used,
  /** Refused before admission in the same time, so without a receipt. */
  refused_today: count,
  /** The last 24 hours, hour by hour. */
  hours: z.array(z.strictObject({ from: time, used })),
})

export const CONVERSATIONS_MAX = 50
/** Of one conversation, in characters of its JSON. */
export const CONVERSATION_CHARACTERS_MAX = 4_000_000

export const saveConversationBody = z.strictObject({
  title: line(100),
  /** JSON that only the playground reads. */
  content: z.string().min(1).max(CONVERSATION_CHARACTERS_MAX),
})

export const savedConversation = z.strictObject({ id: z.string(), title: z.string(), saved_at: time })

/** `keeps` is false where the operator has disabled the storage of contents. */
export const conversationItems = z.strictObject({ keeps: z.boolean(), items: z.array(savedConversation) })

export const conversation = savedConversation.extend({ content: z.string() })
