import { z } from 'zod'
import { email, line, pageQuery, time, timeOrNull } from './values.ts'

export const role = z.enum(['owner', 'operator'])

/** A minimum length, and no rules about kinds of characters. */
const newPassword = z.string().min(10).max(200)
const password = z.string().min(1).max(200)

/** The signed-in person. */
export const person = z.strictObject({
  id: z.string(),
  email: z.string(),
  role,
  /** Null for an operator without an account. */
  account: z.strictObject({ id: z.string(), email: z.string(), status: z.string() }).nullable(),
})

export const sessionStatus = z.strictObject({
  person: person.nullable(),
  /** Sent as `x-csrf-token` with every mutation. Null without a session. */
  csrf: z.string().nullable(),
  /** Until when mutations of keys and money need no password again. */
  confirmed_until: timeOrNull,
  /** No person has signed up yet; the server's banner has the link. */
  setup_needed: z.boolean(),
  version: z.string(),
  /** The base URL for clients. */
  base_url: z.string(),
  currency: z.literal('USD'),
})

/** The purpose of an invitation, for the sign-up page. */
export const invitation = z.strictObject({
  /** Null for the first person of a server, who enters it. */
  email: z.string().nullable(),
  role,
  /** The person exists and gets a new password. */
  resets: z.boolean(),
  expires_at: time,
})

export const sessionItem = z.strictObject({
  id: z.string(),
  current: z.boolean(),
  agent: z.string(),
  address: z.string(),
  created_at: time,
  seen_at: time,
  expires_at: time,
})

export const auditItem = z.strictObject({
  seq: z.int(),
  at: time,
  /** An email, or `operator` for the command line, or `system`. */
  actor: z.string(),
  action: z.string(),
  /** An id: of a key, an account, a code, a session. */
  target: z.string().nullable(),
  /** What was changed, never a secret. */
  detail: z.string(),
})

/** `target`: only entries about one id, such as a key. */
export const auditQuery = z.strictObject({ ...pageQuery.shape, target: line(80).optional() })

export const signUp = z.strictObject({ code: line(40), email: email.optional(), password: newPassword })
/** A malformed email gets the same answer as an unknown one. */
export const signIn = z.strictObject({ email: line(254), password })
export const confirm = z.strictObject({ password })
export const changePassword = z.strictObject({ current: password, next: newPassword })
/** In a body, because URLs are logged and the holder of the code becomes the person. */
export const requestInvitation = z.strictObject({ code: line(40) })
