import { z } from 'zod'
import { CAP_NAMES, type CapName } from '../model/allowance.ts'
import { amount, count, line, money, time, timeOrNull } from './values.ts'

const usdCap = amount.nullable().optional()
export const QUOTA_MAX = 1_000_000_000_000
const quota = z.int().positive().max(QUOTA_MAX).nullable().optional()

/**
 * Caps in periods of UTC: USD a day, week, month and quarter and in total, and requests and tokens a day. Absent caps stay; null removes
 * one.
 */
export const caps = z.strictObject({
  ...{ day: usdCap, week: usdCap, month: usdCap, quarter: usdCap, total: usdCap },
  ...{ requests_day: quota, tokens_day: quota },
} satisfies Record<CapName, z.ZodType>)
export type CapTerms = z.output<typeof caps>

/** Those that are set. */
export const setCaps = z.strictObject({
  ...{ day: money.optional(), week: money.optional(), month: money.optional(), quarter: money.optional() },
  ...{ total: money.optional(), requests_day: z.int().optional(), tokens_day: z.int().optional() },
} satisfies Record<CapName, z.ZodType>)

/** USD, or a whole number of requests or tokens. */
const quantity = z.string().regex(/^-?\d+(?:\.\d{2,9})?$/)

/** A cap in its current period. `used`, `held` and `left` add up to `limit`. `total` has no period. */
export const capStatus = z.strictObject({
  name: z.string(),
  /** Whose cap it is: of the key itself, or shared with the other keys of its person or team. */
  holder: z.enum(['key', 'person', 'team']),
  ...{ limit: quantity, used: quantity, held: quantity, left: quantity, start: timeOrNull, end: timeOrNull },
  /** A higher limit than the cap itself, until then. */
  raised_until: timeOrNull,
})

/** The caps that new keys of an account get. */
export const newKeyCaps = z.strictObject({ account: z.string(), caps: setCaps })

/** A higher amount for a while. A cap has one raise at a time: a new one replaces it, and a change of the cap ends it. */
export const raiseBody = z.strictObject({
  cap: z.enum(CAP_NAMES),
  /** USD, or a whole number of requests or tokens. */
  to: amount,
  /** A date or a span. */
  until: z.string().max(40),
})

export const raised = z.strictObject({ cap: z.string(), to: quantity, until: time })

/** A team, and what is left of its budgets. Its keys share them, inside the account's wallet or plan. */
export const teamItem = z.strictObject({
  id: z.string(),
  account: z.string(),
  name: z.string(),
  /** Keys that are not revoked. */
  keys: count,
  caps: setCaps,
  spent: z.array(capStatus),
  created_at: time,
  archived_at: timeOrNull,
})

export const createTeamBody = z.strictObject({ name: line(100), caps: caps.optional() })

/** Absent terms stay. An archived team takes no new keys; its keys go on. */
export const changeTeamBody = createTeamBody.partial().extend({ archived: z.boolean().optional() })
