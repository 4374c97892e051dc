import { z } from 'zod'
import { fundingRequest, planAnswer, requestDetail, wallet } from './owner.ts'
import { role } from './people.ts'
import {
  amount,
  count,
  email,
  keyKind,
  line,
  moment,
  money,
  moneyOrNull,
  named,
  note,
  pageOf,
  pageQuery,
  time,
  timeOrNull,
} from './values.ts'

export const accountItem = z.strictObject({
  id: z.string(),
  email: z.string(),
  status: z.enum(['active', 'suspended', 'closed']),
  created_at: time,
  wallet,
  plan: z.string().nullable(),
  keys: count,
  people: count,
})
export const accountsPage = pageOf(accountItem)
export const accountsQuery = z.strictObject({ ...pageQuery.shape, search: note(200).optional() })

export const accountDetail = z.strictObject({
  ...accountItem.shape,
  subscription: planAnswer,
  members: z.array(
    z.strictObject({ id: z.string(), email: z.string(), role, created_at: time, disabled: z.boolean() }),
  ),
  asked: fundingRequest.nullable(),
})

export const createAccountBody = z.strictObject({ email })
export const statusBody = z.strictObject({ status: z.enum(['active', 'suspended']) })

/** Prefix of the ledger reference of a redeemed code. Operators cannot use it. */
export const CODE_REF = 'code:'

/** In the console a negative amount is taken out. The same `ref` counts once. */
export const creditBody = z.strictObject({
  amount,
  reason: line(500),
  ref: line(200).refine(
    (ref) => !ref.startsWith(CODE_REF),
    `begins with ${CODE_REF}, which is reserved for redeemed codes`,
  ),
})
export const credited = z.strictObject({ wallet, counted: z.boolean() })
/** Null ends the subscription. */
export const assignPlanBody = z.strictObject({ plan: named.nullable() })
export const inviteBody = z.strictObject({
  role,
  /** Default: the email of the account. */
  email: email.optional(),
  /** Required to give an existing person a new password. Their role stays. */
  resets: z.boolean().optional(),
})
/** `link` is shown once. Its holder becomes the person. `mailed`: it is also sent by mail. */
export const invited = z.strictObject({ link: z.string(), expires_at: time, mailed: z.boolean() })

export const codeItem = z.strictObject({
  id: z.string(),
  /** Its beginning and its end. */
  shown: z.string(),
  amount: money,
  note: z.string(),
  created_at: time,
  expires_at: timeOrNull,
  state: z.enum(['open', 'redeemed', 'expired', 'withdrawn']),
  /** The id of the account. */
  redeemed_by: z.string().nullable(),
  redeemed_at: timeOrNull,
})
export const codesPage = pageOf(codeItem)
export const createCodesBody = z.strictObject({
  amount,
  count: z.int().min(1).max(100),
  /** Visible to operators only. */
  note: note(200),
  /** Null or absent: never. */
  expires: moment.nullable().optional(),
})
/** `secret` is the text to redeem: returned once, stored nowhere. */
export const madeCodes = z.strictObject({ items: z.array(z.strictObject({ code: codeItem, secret: z.string() })) })

export const planItem = z.strictObject({
  id: z.string(),
  /** As configured. */
  models: z.array(z.string()),
  /** The models that builder keys on this plan may call, by their base ids. */
  opens: z.array(z.string()),
  windows: z.array(z.strictObject({ name: z.string(), allowance: money })),
  /** Accounts on the plan now. */
  accounts: count,
})

const laneItem = z.strictObject({
  id: z.string(),
  model: z.string(),
  upstream: z.string(),
  wire: z.string(),
  upstream_model: z.string(),
  priority: z.int(),
  weight: z.number(),
  /** The percentage of new conversations that try it first now. */
  first_percent: z.number(),
  aside: z.strictObject({ reason: z.string(), seconds_left: count }).nullable(),
})

export const operatorModel = z.strictObject({
  id: z.string(),
  kinds: z.array(keyKind),
  price_input: moneyOrNull,
  price_output: moneyOrNull,
  context_tokens: count,
  /** The largest input beyond `context_tokens` that a provider counted since the server started. */
  counted_beyond_context: count.nullable(),
  /** Relative error of estimated charges; null: not measured yet. */
  estimate_error: z.strictObject({ turns: count, median: z.number(), p90: z.number() }).nullable(),
  lanes: z.array(laneItem),
})

export const accountFundingRequest = fundingRequest.extend({ account: z.string(), email: z.string() })

/** Any request by its id, for support. */
export const foundRequest = z.strictObject({
  account: z.strictObject({ id: z.string(), email: z.string() }),
  request: requestDetail,
})

export const systemAnswer = z.strictObject({
  version: z.string(),
  node: z.string(),
  driver: z.string(),
  data: z.string(),
  config: z.string(),
  started_at: time,
  ledger_available: z.boolean(),
  requests_running: count,
  /** Of models, by clients and by the playground. */
  requests_served: count,
  /** What this console has sent: pages, files and queries, without those of models. */
  console_requests: count,
})
