import { z } from 'zod'
import { planAnswer, requestDetail, wallet, wish } from './owner.ts'
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
    z.strictObject({ id: z.string(), email: z.string(), role: z.string(), created_at: time, disabled: z.boolean() }),
  ),
  asked: wish.nullable(),
})

export const createAccountBody = z.strictObject({ email })
export const statusBody = z.strictObject({ status: z.enum(['active', 'suspended']) })

/** What the ledger knows the credit of a code by: no operator can give such a reference. */
export const CODE_REF = 'code:'

/** In the console a negative amount takes out. The same `ref` twice counts once. */
export const creditBody = z.strictObject({
  amount,
  reason: line(500),
  ref: line(200).refine(
    (ref) => !ref.startsWith(CODE_REF),
    `begins with ${CODE_REF}, which is for codes that were redeemed`,
  ),
})
export const credited = z.strictObject({ wallet, counted: z.boolean() })
/** Null ends the subscription. */
export const assignPlanBody = z.strictObject({ plan: named.nullable() })
export const inviteBody = z.strictObject({
  role,
  /** Whose link it is; left out, it is the e-mail of the account. */
  email: email.optional(),
  /** For somebody who has a password already and shall choose a new one: without it that is refused. The role stays theirs. */
  resets: z.boolean().optional(),
})
/** `link` is shown once: whoever has it becomes that person. */
export const invited = z.strictObject({ link: z.string(), expires_at: time })

export const codeItem = z.strictObject({
  id: z.string(),
  /** What a person recognises it by: its beginning and its end. */
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
  /** What each of them is worth. */
  amount,
  count: z.int().min(1).max(100),
  /** For the operator alone: whoever redeems a code is not told. */
  note: note(200),
  /** Null or absent: never. */
  expires: moment.nullable().optional(),
})
/** `secret` is the text that can be redeemed: told this once, stored nowhere. */
export const madeCodes = z.strictObject({ items: z.array(z.strictObject({ code: codeItem, secret: z.string() })) })

export const planItem = z.strictObject({
  id: z.string(),
  /** As they are written. */
  models: z.array(z.string()),
  /** What they match: the models that builder keys on this plan may call, by their base ids. */
  opens: z.array(z.string()),
  windows: z.array(z.strictObject({ name: z.string(), allowance: money })),
  /** How many are on it now. */
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
  /** Of new conversations: how many in a hundred ask it first now. */
  first_percent: z.number(),
  aside: z.strictObject({ reason: z.string(), seconds_left: count }).nullable(),
})

export const operatorModel = z.strictObject({
  id: z.string(),
  kinds: z.array(keyKind),
  price_input: moneyOrNull,
  price_output: moneyOrNull,
  context_tokens: count,
  /** More input than `context_tokens`, as a provider counted it since the server started; null: none did. */
  counted_beyond_context: count.nullable(),
  /** How far estimated charges would have been from true ones, in proportion, without their sign; null: nothing was measured. */
  estimate_error: z.strictObject({ turns: count, median: z.number(), p90: z.number() }).nullable(),
  lanes: z.array(laneItem),
})

export const fundingRequest = wish.extend({ account: z.string(), email: z.string() })

/** Any request of anybody, by its id: for answers to questions. */
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
  requests_served: count,
})
