import { z } from 'zod'
import { email, line, pageQuery, time, timeOrNull } from './values.ts'

export const role = z.enum(['owner', 'operator'])

/** Long enough that guessing is hopeless; no rules about kinds of characters. */
const newPassword = z.string().min(10).max(200)
const password = z.string().min(1).max(200)

/** Whoever is signed in. */
export const person = z.strictObject({
  id: z.string(),
  email: z.string(),
  role,
  /** Null for an operator without keys and money of their own. */
  account: z.strictObject({ id: z.string(), email: z.string(), status: z.string() }).nullable(),
})

export const standing = z.strictObject({
  person: person.nullable(),
  /** To be sent as `x-csrf-token` with everything that changes something. Null without a session. */
  csrf: z.string().nullable(),
  /** Until when keys and money may be touched without asking for the password again. */
  confirmed_until: timeOrNull,
  /** Nobody has signed up yet: the banner of the server shows where to. */
  setup_needed: z.boolean(),
  version: z.string(),
  /** What clients put in as base URL. */
  base_url: z.string(),
  currency: z.literal('USD'),
})

/** What an invitation is for, so that the page can say it before a password is chosen. */
export const invitation = z.strictObject({
  /** Null for the first person of a server, who chooses. */
  email: z.string().nullable(),
  role,
  /** Somebody who has a password already gets a new one. */
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
  /** An e-mail, or `operator` for the command line, or `system`. */
  actor: z.string(),
  action: z.string(),
  /** An id: of a key, an account, a code, a session. */
  target: z.string().nullable(),
  /** In words: what was changed, never a secret. */
  detail: z.string(),
})

/** Only what was done to one thing, such as a key, by its id. */
export const auditQuery = z.strictObject({ ...pageQuery.shape, target: line(80).optional() })

export const signUp = z.strictObject({ code: line(40), email: email.optional(), password: newPassword })
/** Whatever is typed as an e-mail is tried: that it has not even the shape of one is not said to strangers. */
export const signIn = z.strictObject({ email: line(254), password })
export const confirm = z.strictObject({ password })
export const changePassword = z.strictObject({ current: password, next: newPassword })
/** In a body, though it only asks: whoever has the code becomes that person, and addresses are written down on the way. */
export const requestInvitation = z.strictObject({ code: line(40) })
