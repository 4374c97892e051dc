import type { z } from 'zod'
import { mintInviteCode, readInviteCode } from '../auth/secrets.ts'
import type { inviteBody } from '../contract/operate.ts'
import type { signUp as signUpBody } from '../contract/people.ts'
import {
  accountInserts,
  emailUpdate,
  findAccountByEmail,
  findAccountById,
  findAccountByRow,
  type StoredAccount,
} from '../db/accounts.ts'
import {
  findInviteByDigest,
  findPersonByEmail,
  findPersonByRow,
  firstInvitesLock,
  hasPeople,
  inviteInsert,
  inviteUse,
  passwordReset,
  personInsert,
  personStillActive,
  type StoredInvite,
  type StoredPerson,
  sessionsDelete,
} from '../db/people.ts'
import type { Role } from '../db/people-tables.ts'
import { type AtomicStatement, isAlreadyThere, UnexpectedChanges } from '../db/sql-store.ts'
import { mintAccountId, mintPersonId } from '../model/ids.ts'
import { type AnyAccount, accountClosed, resolveAccount } from './accounts.ts'
import type { AuditEntry } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { hasSecondFactor } from './second-factors.ts'
import type { OperatorServices } from './services.ts'
import { type Client, openSession, type SignedIn, type SignInServices } from './sessions.ts'
import { tooBusy } from './sign-in.ts'
import { isoTime } from './values.ts'

/** The link of the banner is used soon, or the server is restarted. */
const FIRST_MS = 15 * 60_000
const INVITE_MS = 7 * 86_400_000

/**
 * A link to choose a password, valid once within a week. `account` is what the person will own; operators need none. `actor` is
 * who invites: an email, or `operator`.
 */
export async function invitePerson(
  services: SignInServices,
  order: z.output<typeof inviteBody> & AnyAccount,
  actor: string,
) {
  try {
    return await invite(services, order, actor)
  } catch (error) {
    if (!(error instanceof UnexpectedChanges)) throw error
    return refuseOperation('person_disabled', `${actor} is disabled, and cannot invite.`)
  }
}

async function invite(services: SignInServices, order: z.output<typeof inviteBody> & AnyAccount, actor: string) {
  const { email } = order
  if (order.resets === true) return inviteToReset(services, email, actor)
  const named = order.account ?? (order.role === 'owner' ? email : undefined)
  const resolved = named === undefined ? undefined : await resolveAccount(services, named)
  if (resolved?.kind === 'refused') return resolved
  const account = resolved?.value ?? (email === undefined ? undefined : await findAccountByEmail(services.db, email))
  const address = email ?? account?.email
  if (address === undefined) {
    return refuseOperation('email_missing', 'Name the person to invite: an email or an account.', { param: 'email' })
  }
  if (account === undefined && order.role !== 'operator') {
    const message = `A person with the role ${order.role} belongs to an account. Name it.`
    return refuseOperation('invalid_arguments', message, { param: 'account' })
  }
  if (account?.status === 'closed') return accountClosed(account)
  if ((await findPersonByEmail(services.db, address)) !== undefined) {
    const message = `${address} has already signed up. For a new password, invite with resets.`
    return refuseOperation('person_exists', message, { param: 'email' })
  }
  return issue(services, { role: order.role, account, person: undefined, email: address }, actor)
}

/** The link has the address of the running server, which knows it, whatever port it was given. */
export function inviteAtServer(
  { people, status }: Pick<OperatorServices, 'people' | 'status'>,
  order: z.output<typeof inviteBody> & AnyAccount,
  actor: string,
) {
  const server = status()
  const consoleUrl = server.running ? () => `${server.public_url ?? server.url}/console` : people.consoleUrl
  return invitePerson({ ...people, consoleUrl }, order, actor)
}

async function inviteToReset(services: SignInServices, email: string | undefined, actor: string) {
  if (email === undefined) {
    return refuseOperation('email_missing', 'Name the person who gets a new password: an email.', { param: 'email' })
  }
  const person = await findPersonByEmail(services.db, email)
  if (person === undefined) {
    return refuseOperation('person_not_found', `No person has signed up as ${email}.`, { param: 'email' })
  }
  if (person.disabled_at !== null)
    return refuseOperation('person_disabled', `${email} is disabled.`, { param: 'email' })
  const account = person.account === null ? undefined : await findAccountByRow(services.db, person.account)
  return issue(services, { role: person.role, account, person, email }, actor)
}

/** The invitation of the first operator, for the banner; undefined once a person has signed up. */
export async function inviteFirstPerson(services: SignInServices) {
  if (await hasPeople(services.db)) return undefined
  const first = { role: 'operator', account: undefined, person: undefined, email: null, lifetimeMs: FIRST_MS } as const
  return (await issue(services, first, 'system')).value
}

interface InviteTerms {
  readonly role: Role
  readonly account: Pick<StoredAccount, 'id' | 'row'> | undefined
  readonly person: StoredPerson | undefined
  readonly email: string | null
  readonly lifetimeMs?: number
}

async function issue(services: SignInServices, terms: InviteTerms, actor: string) {
  const { statements, entry, finish } = await draftInvitation(services, terms, actor)
  await services.audit.record({ ...entry, actor }, statements)
  return done(await finish())
}

/** `finish`: for when the statements are written. `replaced`: which open invitations of the same email it replaces. */
export async function draftInvitation(
  { random, clock, digestInvite, consoleUrl, invitationMail }: SignInServices,
  { role, account, person, email, lifetimeMs = INVITE_MS }: InviteTerms,
  actor: string,
  replaced?: readonly Role[],
) {
  const code = mintInviteCode(random)
  const now = clock.now()
  const expiresAt = now + lifetimeMs
  const invite = {
    digest: digestInvite(readInviteCode(code)!),
    role,
    account: account?.row ?? null,
    person: person?.row ?? null,
    email,
    createdAt: now,
    expiresAt,
    createdBy: actor,
  }
  // The links of a person who is disabled are void. One that is made at the same time must be too.
  const maker = actor.includes('@') ? [personStillActive(actor)] : []
  const what = person === undefined ? `as ${role}` : 'to choose a new password'
  const about = { target: person?.id ?? account?.id, account: account?.row }
  const link = `${consoleUrl()}/setup?code=${code}`
  const resets = person !== undefined
  const sealed = { link, expiresAt: isoTime(expiresAt), resets }
  const to = email === null ? undefined : { to: email, language: await invitationMail.languageFor(email, actor) }
  const mail = to && invitationMail.draft({ ...to, account: account?.row ?? null }, sealed)
  return {
    statements: [...maker, ...inviteInsert(invite, replaced), ...(mail?.statements ?? [])],
    entry: { action: 'invited', ...about, detail: `${email ?? 'the first person'} ${what}` } as const,
    finish: async () => ({
      /** Returned once. Its holder becomes the person. */
      ...{ code, link, email, role, account: account?.id ?? null, resets, expires_at: isoTime(expiresAt) },
      mailed: await invitationMail.isQueued(mail),
    }),
  }
}

/** What a link is for, for the sign-up page. */
export async function readInvite(services: SignInServices, code: string) {
  const invite = await findOpenInvite(services, code)
  if (invite === undefined) return inviteNotValid
  const { email, role, person, expires_at: expiresAt } = invite
  return done({ email, role, resets: person !== null, expires_at: isoTime(expiresAt) })
}

/** Undefined for unknown, used and expired codes, and for a first person's code after a sign-up. */
async function findOpenInvite({ db, clock, digestInvite }: SignInServices, code: string) {
  const letters = readInviteCode(code)
  if (letters === undefined) return undefined
  const invite = await findInviteByDigest(db, digestInvite(letters))
  if (invite === undefined || invite.used_at !== null || invite.expires_at <= clock.now()) return undefined
  return invite.email === null && (await hasPeople(db)) ? undefined : invite
}

/** One message for all cases, so that guesses reveal nothing. */
const inviteNotValid = refuseOperation(
  'invite_not_valid',
  'This link is no longer valid or was already used. Ask the operator for a new one.',
)

/** No session: the person has to sign in, by their second factor too. */
interface PasswordChosen {
  readonly kind: 'password-chosen'
}

/** The statements of a sign-up, and its audit entry. */
interface SignUpSteps {
  readonly email: string
  readonly statements: readonly AtomicStatement[]
  readonly entry: AuditEntry
}

/**
 * Turns a link into a person, or a new password, and a session. All of it is one transaction that first uses the link, so that
 * only one of two concurrent sign-ups succeeds, and a failed one leaves the link valid.
 */
export async function signUp(
  services: SignInServices,
  body: z.output<typeof signUpBody>,
  client: Client,
): Promise<Outcome<SignedIn> | PasswordChosen> {
  const invite = await findOpenInvite(services, body.code)
  if (invite === undefined) return inviteNotValid
  const email = invite.email ?? body.email
  if (email === undefined) {
    return refuseOperation('email_missing', 'Enter the email you will sign in with.', { param: 'email' })
  }
  const password = await services.passwords.hash(body.password, 'known')
  if (password === 'busy') return tooBusy
  const steps =
    invite.person === null
      ? await createPerson(services, invite, email, password)
      : await resetPassword(services, invite.person, password)
  // A link to choose a password stands for the password only, so it does not sign in a person with a second factor.
  const needsFactor = invite.person !== null && (await hasSecondFactor(services, invite.person))
  const session = needsFactor ? undefined : openSession(services, { email: steps.email, password }, client, 'link')
  try {
    const lock = invite.email === null ? [firstInvitesLock()] : []
    const statements = [
      ...lock,
      inviteUse(invite, services.clock.now()),
      ...steps.statements,
      ...(session?.statements ?? []),
    ]
    await services.audit.record(steps.entry, statements)
  } catch (error) {
    const refusal = refusalOf(error, steps.email)
    if (refusal === undefined) throw error
    return refusal
  } finally {
    services.sessions.forgetAll()
  }
  // Guesses of the old password no longer count.
  services.tries.reset({ email: steps.email, address: client.address, device: undefined })
  if (invite.email === null) await services.onFirstPerson()
  if (session === undefined) return { kind: 'password-chosen' }
  const opened = await session.opened()
  return opened === undefined ? inviteNotValid : done(opened)
}

async function createPerson(
  services: SignInServices,
  invite: StoredInvite,
  email: string,
  password: string,
): Promise<SignUpSteps> {
  const { db, random, clock } = services
  const { role } = invite
  const needsAccount = invite.account === null && role === 'operator' && !(await hasPeople(db))
  const first = needsAccount ? await firstAccount(services, email) : undefined
  const account = invite.account === null ? undefined : await findAccountByRow(db, invite.account)
  const id = mintPersonId(random)
  const person = personInsert({ id, email, role, password, now: clock.now() }, first?.id ?? account?.id ?? null)
  // An account that is created in this transaction has no row for the audit log yet.
  const row = first === undefined ? invite.account : (await findAccountById(db, first.id))?.row
  return {
    email,
    statements: [...(first?.statements ?? []), person],
    entry: { actor: email, action: 'signed_up', target: id, account: row, detail: `as ${role}` },
  }
}

/** Ends all sessions, in case the old password was known to others. */
async function resetPassword({ db, clock }: SignInServices, row: number, password: string): Promise<SignUpSteps> {
  const person = await findPersonByRow(db, row)
  if (person === undefined) throw new Error(`Person ${row} of an invitation is missing`)
  const { email, id, account } = person
  return {
    email,
    statements: [passwordReset(row, password, clock.now()), sessionsDelete(row)],
    entry: { actor: email, action: 'password_reset', target: id, account, detail: 'by a link' },
  }
}

function refusalOf(error: unknown, email: string): OperationRefused | undefined {
  // A concurrent sign-up used the link, or the person was disabled.
  if (error instanceof UnexpectedChanges) return inviteNotValid
  if (!isAlreadyThere(error) || !/(people|accounts)\.email/.test(error.message)) return undefined
  return refuseOperation('person_exists', `${email} has already signed up.`, { param: 'email' })
}

/** The email of the account that a first run creates, until the first person signs up and gets it. */
export const PLACEHOLDER_EMAIL = 'you@localhost'

/** The account of the first person: the one with that email, else the one of the first run, else a new one. */
async function firstAccount({ db, random, clock }: SignInServices, email: string) {
  const known = await findAccountByEmail(db, email)
  if (known !== undefined) return { id: known.id, statements: [] }
  const made = await findAccountByEmail(db, PLACEHOLDER_EMAIL)
  if (made !== undefined) return { id: made.id, statements: [emailUpdate(made.row, email)] }
  const id = mintAccountId(random)
  return { id, statements: accountInserts({ id, email, createdAt: clock.now() }) }
}
