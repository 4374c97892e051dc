import { z } from 'zod'
import { amount, line, money, named, pageQuery, time, timeOrNull } from './values.ts'

/** What the owners and admins of an account are told. The person of a key or a cap is told as well. */
export const ACCOUNT_EVENTS = [
  ...(['balance.low', 'cap.reached', 'plan.ended', 'plan.renewed', 'key.expiring', 'webhook.off'] as const),
] as const

/** What operators are told. */
export const OPERATOR_EVENTS = [
  ...(['lane.down', 'lane.up', 'reload.refused', 'shortfall.charged', 'verification.failed', 'webhook.off'] as const),
] as const

export const NOTICE_EVENTS = [...new Set([...ACCOUNT_EVENTS, ...OPERATOR_EVENTS])] as const
export type NoticeEvent = (typeof NOTICE_EVENTS)[number]

const event = z.enum(NOTICE_EVENTS)
/** The details of a notice, by name: see docs/operate/notices.md. */
const facts = z.record(z.string(), z.union([z.string(), z.number()]))
export type NoticeFacts = Readonly<Record<string, string | number>>

export const noticeItem = z.strictObject({
  id: z.string(),
  event,
  at: time,
  /** The id of the account; null for a notice to operators. */
  account: z.string().nullable(),
  facts,
})

/** A notice as the signed-in person sees it. */
export const readableNotice = noticeItem.extend({ read: z.boolean() })

export const noticesQuery = pageQuery
/** At most 100, which stands for more. */
export const unreadNotices = z.strictObject({ unread: z.int().nonnegative() })
/** Without ids: all of them. */
export const readNoticesBody = z.strictObject({ ids: z.array(line(80)).max(200).optional() })

export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]
/** Of the signed-in person: whether notices are sent by mail, and in which language. */
export const noticePreferences = z.strictObject({
  email: z.string(),
  mail: z.boolean(),
  language: z.enum(LANGUAGES),
  /** Whether this server can send mail. */
  mail_configured: z.boolean(),
})
export const changePreferencesBody = z.strictObject({
  mail: z.boolean().optional(),
  language: z.enum(LANGUAGES).optional(),
})

/** Null: no notice of a low balance. */
export const noticeSettings = z.strictObject({ low_balance: money.nullable() })
export const changeSettingsBody = z.strictObject({ low_balance: amount.nullable() })
export const accountNoticeSettings = z.strictObject({ account: z.string(), ...noticeSettings.shape })

const events = z.array(event).min(1).max(NOTICE_EVENTS.length)
const URL_LENGTH_MAX = 1000

export const addWebhookBody = z.strictObject({ url: line(URL_LENGTH_MAX), events })
/** Absent terms stay. `enabled: true` also switches on one that had failed for too long. */
export const changeWebhookBody = z.strictObject({ events: events.optional(), enabled: z.boolean().optional() })

export const webhookItem = z.strictObject({
  id: z.string(),
  /** The id of the account; null for one of operators. */
  account: z.string().nullable(),
  url: z.string(),
  events: z.array(event),
  /** `off`: by a person. `failed`: it failed for three days. */
  state: z.enum(['on', 'off', 'failed']),
  /** Since when each delivery has failed; null if the last one arrived. */
  failing_since: timeOrNull,
  /** Until then, deliveries are also signed with the secret before. */
  former_secret_until: timeOrNull,
  created_at: time,
  created_by: z.string(),
})
export const webhookItems = z.strictObject({ items: z.array(webhookItem) })
/** `secret` is returned once. */
export const madeWebhook = z.strictObject({ webhook: webhookItem, secret: z.string() })

export const deliveryItem = z.strictObject({
  /** The `webhook-id` of each attempt. */
  id: z.string(),
  event: z.enum([...NOTICE_EVENTS, 'test']),
  state: z.enum(['waiting', 'sent', 'failed']),
  attempts: z.int(),
  /** The HTTP status of the last attempt; null without an answer. */
  status: z.int().nullable(),
  /** Why the last attempt failed. */
  error: z.string().nullable(),
  created_at: time,
  next_at: timeOrNull,
  ended_at: timeOrNull,
})

export const ofAnyAccount = z.strictObject({ account: named.optional() })
export const mailTestBody = z.strictObject({ to: line(254) })
export const mailTested = z.strictObject({ to: z.string(), answer: z.string() })
