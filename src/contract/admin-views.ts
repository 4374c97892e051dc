import { z } from 'zod'
import { capStatus, setCaps } from './caps.ts'
import * as operate from './operate.ts'
import * as owner from './owner.ts'
import { role } from './people.ts'
import { count, keyKind, money, named, time, timeOrNull } from './values.ts'

export const ofAnyAccount = { account: named.optional() }

const limits = z.strictObject({
  requests_per_minute: count.optional(),
  tokens_per_minute: count.optional(),
  concurrent: count.optional(),
})

/** An API key as operators see it. */
export const apiKey = z.strictObject({
  id: z.string(),
  account: z.string(),
  email: z.string(),
  kind: keyKind,
  name: z.string(),
  shown: z.string(),
  state: owner.keyItem.shape.state,
  playground: z.boolean(),
  models: z.array(z.string()).nullable(),
  limits,
  caps: setCaps,
  addresses: owner.keyItem.shape.addresses,
  run: owner.keyItem.shape.run,
  step_down: owner.keyItem.shape.step_down,
  expires_at: timeOrNull,
  created_at: time,
  former: owner.keyItem.shape.former,
})

/** The secret is returned once and stored nowhere. */
export const madeApiKey = z.strictObject({ key: apiKey, secret: z.string() })

export const person = z.strictObject({
  id: z.string(),
  email: z.string(),
  role,
  account: z.string().nullable(),
  created_at: time,
  disabled_at: timeOrNull,
})

/** A person of an account, with caps across all of their keys. */
export const member = z.strictObject({
  id: z.string(),
  email: z.string(),
  role,
  caps: setCaps,
  spent: z.array(capStatus),
})

export const invitation = z.strictObject({
  ...operate.invited.shape,
  email: z.string().nullable(),
  role,
  account: z.string().nullable(),
  resets: z.boolean(),
})

export const walletBalance = z.strictObject({
  account: z.string(),
  email: z.string(),
  currency: z.literal('USD'),
  ...owner.wallet.shape,
})

/** `repeated`: the reference was known with this amount, so no money was moved. */
export const moved = z.strictObject({
  account: z.string(),
  email: z.string(),
  amount: money,
  ref: z.string(),
  reason: z.string(),
  repeated: z.boolean(),
  ...owner.wallet.shape,
})

export const walletEntry = z.strictObject({
  kind: z.string(),
  amount: money,
  ref: z.string(),
  reason: z.string(),
  at: time,
})

export const subscription = z.strictObject({
  account: z.string(),
  email: z.string(),
  ...owner.planAnswer.pick({ state: true, plan: true, since: true, until: true, billing_day: true }).shape,
  windows: z.array(owner.window.omit({ id: true, requests: true })),
})

/** Null: the key lacks the scope that the part needs by itself. */
const guardedParts = { wallet: owner.wallet.nullable() }
export const listedAccount = operate.accountItem.extend(guardedParts)
export const accountDetail = operate.accountDetail.extend({
  ...guardedParts,
  subscription: operate.accountDetail.shape.subscription.nullable(),
  members: operate.accountDetail.shape.members.nullable(),
})
