import { hash } from 'node:crypto'
import { createPasswords, type Passwords } from '../auth/hash-password.ts'
import { digestKey, isSessionSecret, mintSessionSecret } from '../auth/secrets.ts'
import type { SignInMeans } from '../contract/people.ts'
import { sweepAdminCalls } from '../db/admin-keys.ts'
import type { LockoutKeeper } from '../db/content/lockouts.ts'
import {
  findSessionByDigest,
  listSessionsOfPerson,
  type SessionWithPerson,
  STRENGTHS,
  sessionDelete,
  sessionInsert,
  sweepInvites,
  sweepSessions,
  sweepSignOnUses,
  touchSession,
} from '../db/people.ts'
import type { Role } from '../db/people-tables.ts'
import { sweepChallenges } from '../db/second-factors.ts'
import { type SqlStore, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/collections.ts'
import { deriveKey, type RingSeals } from '../lib/crypto.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { type AccountId, type AccountRow, mintSessionId, type PersonId, type SessionId } from '../model/ids.ts'
import type { InvitationMail } from '../notices/deliver.ts'
import { createAuditLog } from './audit.ts'
import { done, refuseOperation } from './outcome.ts'
import { createKnownDevices, createSignInTries } from './sign-in-limits.ts'
import { isoTime } from './values.ts'

interface SignInOptions {
  readonly db: LedgerDb
  readonly file: SqlStore
  readonly clock: Clock
  readonly random: RandomBytes
  /** The URL of the console, without a slash at the end. */
  readonly consoleUrl: () => string
  /** Derived from the key ring. It and the database together allow only a brute-force search for secrets. */
  readonly secret: Uint8Array
  readonly onFailure: (error: unknown) => void
  readonly lockouts: Pick<LockoutKeeper, 'keep' | 'drop'>
  readonly passwords?: Passwords
  /** Sends invitations by mail. */
  readonly invitationMail: InvitationMail
  /** Of the configuration in force. */
  readonly rules?: () => SignInRules
  /** Seals the secrets of authenticator apps. */
  readonly totpSeals: RingSeals
  /** The first person has signed up, so the link for them is no longer needed. */
  readonly onFirstPerson?: () => Promise<void>
}

interface SignInRules {
  /** Who may sign in with a password. */
  readonly password: 'everyone' | 'operators_only'
  /** The people who need a second factor even where their account does not require one. */
  readonly secondFactor: 'optional' | 'operators' | 'everyone'
}

const OPEN_RULES: SignInRules = { password: 'everyone', secondFactor: 'optional' }

/** The services of sign-in, sessions and invitations. There is one of it while the ledger is open. */
export type SignInServices = ReturnType<typeof createSignInServices>

export function createSignInServices(options: SignInOptions) {
  const { db, file, clock, random, consoleUrl, secret, onFailure, lockouts, invitationMail, totpSeals } = options
  const rules = options.rules ?? (() => OPEN_RULES)
  const sessionKey = deriveKey(secret, 'sessions')
  const inviteKey = deriveKey(secret, 'invites')
  const triesKey = deriveKey(secret, 'tries')
  const recoveryKey = deriveKey(secret, 'recovery-codes')
  const digestSession = (text: string) => digestKey(sessionKey, text)
  return {
    ...{ db, file, clock, random, consoleUrl, digestSession, invitationMail, rules, totpSeals },
    onFirstPerson: async (): Promise<void> => options.onFirstPerson?.().catch(onFailure),
    challengeKey: deriveKey(secret, 'passkey-challenges'),
    digestRecoveryCode: (person: string, letters: string) =>
      digestKey(recoveryKey, `${person} ${letters}`).toString('base64url'),
    digestInvite: (letters: string) => digestKey(inviteKey, letters),
    audit: createAuditLog({ db, file, clock }),
    passwords: options.passwords ?? createPasswords(),
    sessions: createSessionFinder({ db, clock, rules, digest: digestSession, onFailure }),
    tries: createSignInTries({
      clock,
      digest: (name) => Buffer.from(digestKey(triesKey, name)).toString('base64url'),
      keeper: lockouts,
    }),
    devices: createKnownDevices({ clock, random, secret: deriveKey(secret, 'devices') }),
  }
}

/** Deletes expired sessions, invitations, challenges and idempotency keys of the management API. */
export async function sweepPeople({ file, clock }: Pick<SignInServices, 'file' | 'clock'>): Promise<void> {
  const now = clock.now()
  await sweepSessions(file, { now, idleSince: now - IDLE_MS })
  await sweepInvites(file, now)
  await sweepChallenges(file, now)
  await sweepAdminCalls(file, now)
  await sweepSignOnUses(file, now)
}

export type Session = ReturnType<typeof sessionOf> & {
  /** What the person has to do before anything else. */
  readonly secondFactor: FactorNeeded | null
}

/** `give`: a second factor that they have; `enrol`: they have none. */
type FactorNeeded = 'enrol' | 'give'

interface FinderOptions extends Pick<SignInOptions, 'db' | 'clock'> {
  readonly rules: () => SignInRules
  readonly digest: (secret: string) => Uint8Array
  /** The use of a session could not be recorded. The session continues. */
  readonly onFailure: (error: unknown) => void
}

/** The lifetime of a session. */
export const SESSION_MS = 7 * 86_400_000
/** An unused session ends sooner. */
export const IDLE_MS = 12 * 3_600_000
/** Uses are written at most this often. */
const SEEN_EVERY_MS = 60_000
const CACHED_MAX = 1000

export function createSessionFinder({ db, clock, rules, digest, onFailure }: FinderOptions) {
  // Keyed by a hash, so that a memory dump reveals no secrets.
  const cached = createLruMap<string, ReturnType<typeof sessionOf>>(CACHED_MAX)
  let changes = 0
  return {
    /** Finds a session by the secret of the browser; undefined if it is unknown or has ended. */
    async find(secret: string): Promise<Session | undefined> {
      if (!isSessionSecret(secret)) return undefined
      const name = hash('sha256', secret, 'base64url')
      const changesBefore = changes
      let session = cached.get(name)
      if (session === undefined) {
        const found = await findSessionByDigest(db, digest(secret))
        session = found === undefined || found.disabled_at !== null ? undefined : sessionOf(found)
      }
      const now = clock.now()
      if (session === undefined || session.expiresAt <= now || session.seenAt + IDLE_MS <= now) return undefined
      if (now - session.seenAt >= SEEN_EVERY_MS) {
        await touchSession(db, session.row, now).catch(onFailure)
        session = { ...session, seenAt: now }
      }
      // A session that was read before a change must not be cached after it.
      if (changes === changesBefore) cached.set(name, session)
      return { ...session, secondFactor: factorNeeded(session, rules().secondFactor) }
    },
    /** To be called after every change of a session, a person or an account. */
    forgetAll() {
      changes += 1
      cached.clear()
    },
  }
}

/** It holds even where the account of the person requires none. */
export const serverNeedsFactor = (rule: SignInRules['secondFactor'], { role }: { readonly role: Role }): boolean =>
  rule === 'everyone' || (rule === 'operators' && role === 'operator')

function factorNeeded(
  { isStrong, accountNeedsFactor, person, factors }: ReturnType<typeof sessionOf>,
  rule: SignInRules['secondFactor'],
): FactorNeeded | null {
  if (isStrong || !(accountNeedsFactor || serverNeedsFactor(rule, person))) return null
  return factors.code || factors.passkey ? 'give' : 'enrol'
}

const sessionOf = (found: SessionWithPerson) => ({
  id: found.id as SessionId,
  row: found.row,
  person: { id: found.person_id as PersonId, row: found.person, email: found.email, role: found.role },
  /** Undefined for an operator without an account. */
  account:
    found.account === null
      ? undefined
      : {
          id: found.account_id as AccountId,
          row: found.account as AccountRow,
          email: found.account_email!,
          status: found.account_status!,
        },
  createdAt: found.created_at,
  seenAt: found.seen_at,
  expiresAt: found.expires_at,
  means: found.means as SignInMeans,
  /** A second factor was given in it, or the provider has asked for one. */
  isStrong: found.strong !== STRENGTHS.none,
  accountNeedsFactor: found.account_factor === 1,
  /** What the person has beside the password. */
  factors: { code: found.has_totp === 1, passkey: found.has_passkey === 1 },
  /** When the password or a passkey was last given. */
  confirmedAt: found.confirmed_at,
})

/** Where a sign-in comes from. */
export interface Client {
  /** The user agent of the browser. */
  readonly agent: string
  readonly address: string | undefined
  /** Device tokens that the browser kept from earlier sign-ins. */
  readonly deviceTokens?: string | undefined
}

export interface SignedIn {
  /** Returned once. It grants access to everything until the session ends. */
  readonly secret: string
  readonly session: Session
}

/** A sign-in by one of these has given a second factor. A provider may have asked for one. */
const STRONG: ReadonlySet<SignInMeans> = new Set(['code', 'recovery_code', 'passkey'])

/** The list of sessions is shown whole, so it is bounded: the oldest session is ended. */
const SESSIONS_MAX = 50
const AGENT_LENGTH_MAX = 200

/**
 * A session with a fresh secret, which prevents session fixation. The statements insert it in the caller's transaction, and
 * only if the password is still the one that was checked.
 */
export function openSession(
  { random, clock, digestSession, sessions }: SignInServices,
  owner: { readonly email: string; readonly password: string },
  { agent, address }: Client,
  means: SignInMeans,
  isStrong = STRONG.has(means),
) {
  const secret = mintSessionSecret(random)
  const id = mintSessionId(random)
  const now = clock.now()
  const row = {
    id,
    digest: digestSession(secret),
    now,
    expiresAt: now + SESSION_MS,
    ...{ means, strong: isStrong ? STRENGTHS[means === 'provider' ? 'provider' : 'here'] : STRENGTHS.none },
    agent: oneLine(agent),
    address: oneLine(address ?? ''),
  }
  return {
    id,
    statements: sessionInsert(row, owner, SESSIONS_MAX),
    /** To be called after the statements are committed. */
    async opened(): Promise<SignedIn | undefined> {
      sessions.forgetAll()
      const session = await sessions.find(secret)
      return session && { secret, session }
    },
  }
}

const oneLine = (text: string): string => text.slice(0, AGENT_LENGTH_MAX).replace(/\p{Cc}/gu, ' ')

/** Ends a session of the same person, by the id of the session list. */
export async function endSession(services: SignInServices, session: Session, id: string) {
  const own = await listSessionsOfPerson(services.db, session.person.row)
  const named = own.find((row) => row.id === id)
  const ended = named !== undefined && (await deleteSession(services, session, named, 'session_ended'))
  return ended ? done({ id }) : refuseOperation('session_not_found', 'There is no such session; it may have ended.')
}

/** Ends the session of the caller. It succeeds if the session has already ended. */
export const signOut = (services: SignInServices, session: Session) =>
  deleteSession(services, session, session, 'signed_out')

/** False if the session has already ended. */
async function deleteSession(
  { audit, sessions }: SignInServices,
  by: Session,
  { id, row }: { readonly id: string; readonly row: number },
  action: 'session_ended' | 'signed_out',
): Promise<boolean> {
  try {
    await audit.record({ actor: by.person.email, action, target: id, account: by.account?.row }, [sessionDelete(row)])
    return true
  } catch (error) {
    if (error instanceof UnexpectedChanges) return false
    throw error
  } finally {
    sessions.forgetAll()
  }
}

/** Newest first. */
export async function listSessions({ db }: { readonly db: LedgerDb }, session: Session) {
  const rows = await listSessionsOfPerson(db, session.person.row)
  const items = rows.map(({ id, row, agent, address, means, created_at, seen_at, expires_at }) => ({
    ...{ id, current: row === session.row, agent, address, means: means as SignInMeans },
    ...{ created_at: isoTime(created_at), seen_at: isoTime(seen_at), expires_at: isoTime(expires_at) },
  }))
  return done({ items })
}
