import type { z } from 'zod'
import type { inviteBody } from '../../contract/operate.ts'
import type { invitation } from '../../contract/people.ts'
import { mintInviteCode, readInviteCode } from '../../keys/invite-code.ts'
import { findAccountByEmail, findAccountByRow, type StoredAccount } from '../../store/accounts.ts'
import { findInviteByDigest, inviteInsert, type StoredInvite } from '../../store/invites.ts'
import { findPersonByEmail, hasPeople, type StoredPerson } from '../../store/people.ts'
import type { Role } from '../../store/people-tables.ts'
import { type AnyAccount, accountClosed, resolveAccount } from '../accounts/one-account.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import type { PeopleDeps } from './people-deps.ts'

/** The banner is read at once, or the server is started again. */
const FIRST_MS = 15 * 60_000
const INVITE_MS = 7 * 86_400_000

/** An account is named by whose keys and money they will see. An operator needs none. */
type InviteOrder = z.output<typeof inviteBody> & AnyAccount

export interface Invitation {
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
export async function findOpenInvite(deps: PeopleDeps, code: string): Promise<StoredInvite | undefined> {
  const letters = readInviteCode(code)
  if (letters === undefined) return undefined
  const invite = await findInviteByDigest(deps.db, deps.digestInvite(letters))
  if (invite === undefined || invite.used_at !== null || invite.expires_at <= deps.clock.now()) return undefined
  return invite.email === null && (await hasPeople(deps.db)) ? undefined : invite
}

/** One sentence for all of them: who guesses codes learns nothing. */
export const inviteNotValid = (): Refused =>
  refused('invite_not_valid', 'This link is not valid any more, or was used. Ask the operator for a new one.')
