import type { z } from 'zod'
import { mintInviteCode, readInviteCode } from '../auth/secrets.ts'
import type { inviteBody } from '../contract/operate.ts'
import type { invitation, signUp as signUpBody } from '../contract/people.ts'
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
  hasPeople,
  inviteInsert,
  inviteUse,
  passwordReset,
  personInsert,
  type StoredInvite,
  type StoredPerson,
  sessionsDelete,
} from '../db/people.ts'
import { isAlreadyThere } from '../db/sqlite/failure.ts'
import { type AtomicStatement, UnexpectedChanges } from '../db/sqlite/sqlite-file.ts'
import type { Role } from '../db/tables.ts'
import { mintAccountId, mintPersonId } from '../model/ids.ts'
import { type AnyAccount, accountClosed, resolveAccount } from './accounts.ts'
import type { AuditEntry } from './audit.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { tooBusy } from './passwords.ts'
import type { PeopleDeps } from './people-deps.ts'
import { type Client, openSession, type SignedIn } from './sessions.ts'
import { isoTime } from './values.ts'

/** The banner is read at once, or the server is started again. */
const FIRST_MS = 15 * 60_000
const INVITE_MS = 7 * 86_400_000

/** An account is named by whose keys and money they will see. An operator needs none. */
type InviteOrder = z.output<typeof inviteBody> & AnyAccount

interface Invitation {
  /** Said this once. Whoever has it becomes that person. */
  readonly code: string
  readonly link: string
  readonly email: string | null
  readonly role: Role
  readonly account: string | null
  readonly resets: boolean
  readonly expires_at: string
}

/** A link with which somebody chooses a password, once, within a week. `actor` is who invites: an e-mail, or `operator`. */
export async function invitePerson(deps: PeopleDeps, order: InviteOrder, actor: string): Promise<Outcome<Invitation>> {
  const { email } = order
  if (order.resets === true) return inviteToReset(deps, email, actor)
  const named = order.account ?? (order.role === 'owner' ? email : undefined)
  const resolved = named === undefined ? undefined : await resolveAccount(deps, named)
  if (resolved?.kind === 'refused') return resolved
  const account = resolved?.account ?? (await accountOf(deps, email))
  const address = email ?? account?.email
  if (address === undefined)
    return refused('email_missing', 'Say whom to invite: an e-mail, or an account.', { param: 'email' })
  if (account?.status === 'closed') return accountClosed(account)
  if ((await findPersonByEmail(deps.db, address)) !== undefined) {
    return refused('person_exists', `${address} has signed up already. A new password: invite with resets.`, {
      param: 'email',
    })
  }
  return issue(deps, { role: order.role, account, person: undefined, email: address, lifetimeMs: INVITE_MS }, actor)
}

const accountOf = (deps: PeopleDeps, email: string | undefined): Promise<StoredAccount | undefined> =>
  email === undefined ? Promise.resolve(undefined) : findAccountByEmail(deps.db, email)

async function inviteToReset(deps: PeopleDeps, email: string | undefined, actor: string): Promise<Outcome<Invitation>> {
  if (email === undefined) {
    return refused('email_missing', 'Say whose password is to be set anew: an e-mail.', { param: 'email' })
  }
  const person = await findPersonByEmail(deps.db, email)
  if (person === undefined) return refused('person_not_found', `Nobody has signed up as ${email}.`, { param: 'email' })
  if (person.disabled_at !== null) return refused('person_disabled', `${email} is disabled.`, { param: 'email' })
  const account = person.account === null ? undefined : await findAccountByRow(deps.db, person.account)
  return issue(deps, { role: person.role, account, person, email, lifetimeMs: INVITE_MS }, actor)
}

/** For whoever comes first, as the server says at its start; undefined as soon as anybody has signed up. */
export async function inviteFirstPerson(deps: PeopleDeps): Promise<Invitation | undefined> {
  if (await hasPeople(deps.db)) return undefined
  const first = { role: 'operator', account: undefined, person: undefined, email: null, lifetimeMs: FIRST_MS } as const
  const outcome = await issue(deps, first, 'system')
  return outcome.value
}

interface Issue {
  readonly role: Role
  readonly account: StoredAccount | undefined
  readonly person: StoredPerson | undefined
  readonly email: string | null
  readonly lifetimeMs: number
}

async function issue(deps: PeopleDeps, { role, account, person, email, lifetimeMs }: Issue, actor: string) {
  const code = mintInviteCode(deps.random)
  const now = deps.clock.now()
  const expiresAt = now + lifetimeMs
  const statements = inviteInsert({
    digest: deps.digestInvite(readInviteCode(code)!),
    role,
    account: account?.row ?? null,
    person: person?.row ?? null,
    email,
    createdAt: now,
    expiresAt,
    createdBy: actor,
  })
  const what = person === undefined ? `as ${role}` : 'to choose a new password'
  const entry = { actor, action: 'invited', target: person?.id ?? account?.id, account: account?.row } as const
  await deps.audit.record({ ...entry, detail: `${email ?? 'the first person'} ${what}` }, statements)
  return done<Invitation>({
    code,
    link: `${deps.consoleUrl()}/setup?code=${code}`,
    email,
    role,
    account: account?.id ?? null,
    resets: person !== undefined,
    expires_at: isoTime(expiresAt),
  })
}

/** What a link is for, so that the page can say it before a password is chosen. */
export async function readInvite(deps: PeopleDeps, code: string): Promise<Outcome<z.output<typeof invitation>>> {
  const invite = await findOpenInvite(deps, code)
  if (invite === undefined) return inviteNotValid()
  const { email, role, person, expires_at: expiresAt } = invite
  return done({ email, role, resets: person !== null, expires_at: isoTime(expiresAt) })
}

/** Undefined for what was never one, was used, is over, or is for the first person where there is one. */
async function findOpenInvite(deps: PeopleDeps, code: string): Promise<StoredInvite | undefined> {
  const letters = readInviteCode(code)
  if (letters === undefined) return undefined
  const invite = await findInviteByDigest(deps.db, deps.digestInvite(letters))
  if (invite === undefined || invite.used_at !== null || invite.expires_at <= deps.clock.now()) return undefined
  return invite.email === null && (await hasPeople(deps.db)) ? undefined : invite
}

/** One sentence for all of them: who guesses codes learns nothing. */
const inviteNotValid = (): Refused =>
  refused('invite_not_valid', 'This link is not valid any more, or was used. Ask the operator for a new one.')

interface Steps {
  readonly email: string
  readonly statements: readonly AtomicStatement[]
  readonly entry: AuditEntry
}

/**
 * A link becomes a person, or a new password of one, and a session. All of it is one step that begins with using the
 * link, so of two at the same moment one gets it, and what fails later leaves it as good as it was.
 */
export async function signUp(
  deps: PeopleDeps,
  body: z.output<typeof signUpBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const invite = await findOpenInvite(deps, body.code)
  if (invite === undefined) return inviteNotValid()
  const email = invite.email ?? body.email
  if (email === undefined)
    return refused('email_missing', 'Say which e-mail you will sign in with.', { param: 'email' })
  const password = await deps.passwords.hash(body.password, 'known')
  if (password === 'busy') return tooBusy()
  const steps = await stepsOf(deps, { invite, email, password })
  const session = openSession(deps, { email: steps.email, password }, client)
  try {
    const statements = [inviteUse(invite, deps.clock.now()), ...steps.statements, ...session.statements]
    await deps.audit.record(steps.entry, statements)
  } catch (error) {
    const refusal = refusalOf(error, steps.email)
    if (refusal === undefined) throw error
    return refusal
  } finally {
    deps.sessions.forgetAll()
  }
  // Guesses of the old password, by the person or by strangers, count no more.
  deps.tries.startAnew({ email: steps.email, address: client.address, device: undefined })
  if (invite.email === null) await deps.onFirstPerson()
  const opened = await session.opened()
  return opened === undefined ? inviteNotValid() : done(opened)
}

interface FundingRequest {
  readonly invite: StoredInvite
  readonly email: string
  readonly password: string
}

async function stepsOf(deps: PeopleDeps, wish: FundingRequest): Promise<Steps> {
  return wish.invite.person === null ? becomePerson(deps, wish) : resetPassword(deps, wish, wish.invite.person)
}

async function becomePerson(deps: PeopleDeps, { invite, email, password }: FundingRequest): Promise<Steps> {
  const { role } = invite
  const needsAccount = invite.account === null && role === 'operator' && !(await hasPeople(deps.db))
  const first = needsAccount ? await firstAccount(deps, email) : undefined
  const account = invite.account === null ? undefined : await findAccountByRow(deps.db, invite.account)
  const id = mintPersonId(deps.random)
  const person = personInsert({ id, email, role, password, now: deps.clock.now() }, first?.id ?? account?.id ?? null)
  // An account that is made in this very step has no row that the trail could name yet.
  const row = first === undefined ? invite.account : (await findAccountById(deps.db, first.id))?.row
  return {
    email,
    statements: [...(first?.statements ?? []), person],
    entry: { actor: email, action: 'signed_up', target: id, account: row, detail: `as ${role}` },
  }
}

/** Whoever may have known the old password is out. */
async function resetPassword(deps: PeopleDeps, { password }: FundingRequest, row: number): Promise<Steps> {
  const person = await findPersonByRow(deps.db, row)
  if (person === undefined) throw new Error(`Person ${row} of an invitation is not there`)
  const { email, id, account } = person
  return {
    email,
    statements: [passwordReset(row, password, deps.clock.now()), sessionsDelete(row)],
    entry: { actor: email, action: 'password_reset', target: id, account, detail: 'by a link' },
  }
}

function refusalOf(error: unknown, email: string): Refused | undefined {
  // Used by somebody else at the same moment, or its person was disabled.
  if (error instanceof UnexpectedChanges) return inviteNotValid()
  if (!isAlreadyThere(error) || !/(people|accounts)\.email/.test(error.message)) return undefined
  return refused('person_exists', `${email} has signed up already.`, { param: 'email' })
}

/** The e-mail of the account that a first run makes, until somebody signs up and it is theirs. */
export const PLACEHOLDER_EMAIL = 'you@localhost'

interface FirstAccount {
  readonly id: string
  /** What has to be done in the step in which its owner comes to be. */
  readonly statements: AtomicStatement[]
}

/** For the first person: the account of that e-mail where there is one, else the one of the first run, else a new one. */
async function firstAccount(deps: PeopleDeps, email: string): Promise<FirstAccount> {
  const known = await findAccountByEmail(deps.db, email)
  if (known !== undefined) return { id: known.id, statements: [] }
  const made = await findAccountByEmail(deps.db, PLACEHOLDER_EMAIL)
  if (made !== undefined) return { id: made.id, statements: [emailUpdate(made.row, email)] }
  const id = mintAccountId(deps.random)
  return { id, statements: accountInserts({ id, email, createdAt: deps.clock.now() }) }
}
