import { z } from 'zod'
import { capStatus, setCaps } from './caps.ts'
import { count, email, line, pageQuery, time, timeOrNull } from './values.ts'

export const memberRole = z.enum(['owner', 'admin', 'member', 'viewer'])
export const role = z.enum([...memberRole.options, 'operator'])

/** A minimum length, and no rules about kinds of characters. */
const newPassword = z.string().min(10).max(200)
const password = z.string().min(1).max(200)

/** How a session signed in. `code`: password and authenticator app; `link`: an invitation or a link to choose a password. */
const signInMeans = z.enum(['password', 'code', 'recovery_code', 'passkey', 'provider', 'link'])

/** Six digits of an authenticator app, or a recovery code. */
const code = line(40).optional()
/** Why a sign-in by a provider was refused. The sign-in page has a sentence for each. */
export const SIGN_ON_PROBLEMS = [
  /** There is no such provider. */
  'unknown_provider',
  /** The provider does not answer. */
  'unreachable',
  /** The attempt is older than ten minutes, was used, or was begun in another browser. */
  'expired',
  /** The provider has refused it, or its answer is not valid. */
  'invalid',
  /** The provider names no email, or does not call it verified. */
  'email',
  /** Emails of this domain may not sign in. */
  'domain',
  /** No group of the person gives a role. */
  'no_role',
  /** No person belongs to this identity. */
  'unknown_person',
  /** A person with this email belongs to another identity of the provider. */
  'other_identity',
  /** The groups give a role in another account than the person's. */
  'other_account',
  /** The person is the last owner or operator, and their groups give another role. */
  'last',
  'disabled',
  /** The provider did not say that the person has just signed in there. */
  'not_fresh',
  /** Another person signed in at the provider than in this browser. */
  'other_person',
] as const

export type SignOnProblem = (typeof SIGN_ON_PROBLEMS)[number]

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
  /** What the person has to do before anything else: add a second factor, or give one that they have. */
  second_factor: z.enum(['enrol', 'give']).nullable(),
  /** What the person has beside the password. Null without a session. */
  factors: z.strictObject({ code: z.boolean(), passkey: z.boolean() }).nullable(),
  /** No person has signed up yet; the server's banner has the link. */
  setup_needed: z.boolean(),
  /** Providers of single sign-on. */
  sign_on: z.array(z.strictObject({ name: z.string(), label: z.string() })),
  /** How the signed-in person confirms: null by their password, otherwise by one of these providers. */
  confirm_by: z.array(z.string()).nullable(),
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
  means: signInMeans,
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
  /** What the target is called now: an email, the name of a key or a team; null if it has no name or is gone. */
  target_name: z.string().nullable(),
  /** For an operator, the name of the admin key that acted. */
  actor_name: z.string().nullable(),
  /** What was changed, never a secret. */
  detail: z.string(),
})

/** `target`: only entries about one id, such as a key. */
export const auditQuery = z.strictObject({ ...pageQuery.shape, target: line(80).optional() })

/** `actor`: a part of an email, of an admin key's id, `operator` or `system`. Days of `zone` until before `to`. */
export const auditExportQuery = z.strictObject({
  target: line(80).optional(),
  actor: line(254).optional(),
  action: line(40).optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  zone: line(64).optional(),
})
export const operatorAuditQuery = auditExportQuery.extend(pageQuery.shape)

/** A person of an account, as the others see them. */
export const member = z.strictObject({
  id: z.string(),
  email: z.string(),
  /** An operator with this account is as its owner. */
  role,
  state: z.enum(['active', 'disabled']),
  /** Keys of theirs that are not revoked. */
  keys: count,
  created_at: time,
})
/** With their caps across all of their keys, and what is left of them. */
export const cappedMember = member.extend({ caps: setCaps, spent: z.array(capStatus) })
export const inviteMemberBody = z.strictObject({ email, role: memberRole })
export const changeMemberBody = z.strictObject({ role: memberRole })

export const signUp = z.strictObject({ code: line(40), email: email.optional(), password: newPassword })
/** A malformed email gets the same answer as an unknown one. */
export const signIn = z.strictObject({ email: line(254), password, code })
export const confirm = z.strictObject({ password, code })
export const giveFactor = z.strictObject({ code: line(40) })
export const changePassword = z.strictObject({ current: password, next: newPassword, code })
/** In a body, because URLs are logged and the holder of the code becomes the person. */
export const requestInvitation = z.strictObject({ code: line(40) })

export type SignInMeans = z.output<typeof signInMeans>

const base64url = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .regex(/^[\w-]+$/, 'is not base64url')

const passkeyName = line(60)

export const passkeyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  created_at: time,
  last_used_at: timeOrNull,
})

/** The second factors of a person. */
export const factors = z.strictObject({
  /** The authenticator app; null without one. */
  totp: z.strictObject({ since: time }).nullable(),
  recovery_codes_left: count,
  passkeys: z.array(passkeyItem),
})

/** Whether the people of an account need a second factor. */
export const factorRule = z.strictObject({
  required: z.boolean(),
  /** The configuration requires one of everyone. */
  required_by_server: z.boolean(),
  /** How many people have none here. */
  people_without: count,
})
export const changeFactorRule = z.strictObject({ required: z.boolean() })

/** A secret for an authenticator app, which counts once a code confirms it. */
export const totpSecret = z.strictObject({ secret: z.string(), uri: z.string() })
export const confirmTotp = z.strictObject({ code: z.string().max(20) })

/** Returned once and stored nowhere. Null: the person has codes already. */
export const recoveryCodes = z.strictObject({ codes: z.array(z.string()) })
export const factorAdded = z.strictObject({ factors, codes: z.array(z.string()).nullable() })

/** What a browser signs. The challenge is answered once, within minutes. */
export const passkeyChallenge = z.strictObject({ challenge: z.string(), rp_id: z.string(), allow: z.array(z.string()) })
export const newPasskeyChallenge = z.strictObject({
  challenge: z.string(),
  rp_id: z.string(),
  rp_name: z.string(),
  user_id: z.string(),
  user_name: z.string(),
  exclude: z.array(z.string()),
})

/** The fields of an AuthenticatorAssertionResponse of WebAuthn, in base64url. */
export const passkeyAnswer = z.strictObject({
  id: base64url(1400),
  client_data: base64url(8000),
  authenticator_data: base64url(8000),
  signature: base64url(4000),
  user_handle: base64url(200).nullable(),
})

export const registerPasskey = z.strictObject({
  name: passkeyName,
  id: base64url(1400),
  client_data: base64url(8000),
  attestation: base64url(24_000),
  transports: z.array(line(20)).max(10),
})
export const renamePasskey = z.strictObject({ name: passkeyName })
