import { z } from 'zod'
import { planAnswer } from './plan.ts'
import { requestDetail } from './requests.ts'
import { count, keyKind, line, money, moneyOrNull, note, pageOf, pageQuery, time, timeOrNull } from './values.ts'
import { wallet } from './wallet.ts'

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
export const accountsQuery = z.strictObject({ ...pageQuery.shape, search: line(200).optional() })

export const accountDetail = z.strictObject({
  ...accountItem.shape,
  subscription: planAnswer,
  members: z.array(
    z.strictObject({ id: z.string(), email: z.string(), role: z.string(), created_at: time, disabled: z.boolean() }),
  ),
  asked: z.strictObject({ amount: money, note: z.string(), at: time }).nullable(),
})

export const createAccountBody = z.strictObject({ email: line(254) })
export const statusBody = z.strictObject({ status: z.enum(['active', 'suspended']) })
/** Positive puts in, negative takes out. The same `ref` twice counts once. */
export const creditBody = z.strictObject({ amount: z.string().max(30), reason: line(200), ref: line(100) })
export const credited = z.strictObject({ wallet, counted: z.boolean() })
/** Null ends the subscription. */
export const assignPlanBody = z.strictObject({ plan: line(100).nullable() })
export const inviteBody = z.strictObject({
  role: z.enum(['owner', 'operator']),
  email: line(254).optional(),
  /** Somebody who has signed up already chooses a new password; without it that is refused. */
  resets: z.boolean().optional(),
})
/** `link` is shown once: whoever has it becomes that person. */
export const invited = z.strictObject({ link: z.string(), expires_at: time })

export const codeItem = z.strictObject({
  id: z.string(),
  /** Its beginning and its end. */
  shown: z.string(),
  amount: money,
  note: z.string(),
  created_at: time,
  expires_at: timeOrNull,
  state: z.enum(['open', 'redeemed', 'expired', 'withdrawn']),
  redeemed_by: z.string().nullable(),
  redeemed_at: timeOrNull,
})
export const codesPage = pageOf(codeItem)
export const createCodesBody = z.strictObject({
  amount: z.string().max(30),
  count: z.int().min(1).max(100),
  note: note(200),
  expires: z.string().max(40).nullable().optional(),
})
/** Told this once. */
export const madeCodes = z.strictObject({ items: z.array(z.strictObject({ code: codeItem, secret: z.string() })) })

export const planItem = z.strictObject({
  id: z.string(),
  models: z.array(z.string()),
  opens: z.array(z.string()),
  windows: z.array(z.strictObject({ name: z.string(), allowance: money })),
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
  lanes: z.array(laneItem),
})

export const fundWish = z.strictObject({
  account: z.string(),
  email: z.string(),
  amount: money,
  note: z.string(),
  at: time,
})

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
