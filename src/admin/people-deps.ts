import { hash } from 'node:crypto'
import { createPasswords, type Passwords } from '../auth/hash-password.ts'
import { digestKey, isSessionSecret } from '../auth/secrets.ts'
import type { LockoutKeeper } from '../db/content/lockouts.ts'
import { findSessionByDigest, type SessionWithPerson, sweepInvites, sweepSessions, touchSession } from '../db/people.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { AccountStatus, LedgerDb, Role } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { deriveKey } from '../lib/crypto.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { AccountId, AccountRow, PersonId, SessionId } from '../model/ids.ts'
import { type AuditLog, createAuditLog } from './audit.ts'
import { createKnownDevices, type KnownDevices } from './known-devices.ts'
import { createSignInTries, type SignInTries } from './sign-in-limits.ts'

/** What the use cases of people who sign in share. There is one of it while the books are open. */
export interface PeopleDeps {
  readonly db: LedgerDb
  readonly file: SqliteFile
  readonly clock: Clock
  readonly random: RandomBytes
  readonly audit: AuditLog
  readonly passwords: Passwords
  readonly sessions: SessionFinder
  readonly tries: SignInTries
  readonly devices: KnownDevices
  readonly digestSession: (secret: string) => Uint8Array
  readonly digestInvite: (letters: string) => Uint8Array
  /** Where the console is, without a slash at the end. */
  readonly consoleUrl: () => string
  /** The first person has signed up: the link for that is of no use any more. */
  readonly onFirstPerson: () => Promise<void>
}

interface PeopleGround extends Pick<PeopleDeps, 'db' | 'file' | 'clock' | 'random' | 'consoleUrl'> {
  /** Derived from the ring; whoever has it and the database can try secrets, which is hopeless. */
  readonly secret: Uint8Array
  readonly onFailure: (error: unknown) => void
  readonly lockouts: Pick<LockoutKeeper, 'keep' | 'drop'>
  readonly passwords?: Passwords
  readonly onFirstPerson?: () => Promise<void>
}

export function createPeopleDeps(ground: PeopleGround): PeopleDeps {
  const { db, file, clock, random, consoleUrl, secret, onFailure, lockouts } = ground
  const ofSessions = deriveKey(secret, 'sessions')
  const ofInvites = deriveKey(secret, 'invites')
  const ofTries = deriveKey(secret, 'tries')
  const digestSession = (text: string) => digestKey(ofSessions, text)
  return {
    ...{ db, file, clock, random, consoleUrl, digestSession },
    onFirstPerson: async () => ground.onFirstPerson?.().catch(onFailure),
    digestInvite: (letters) => digestKey(ofInvites, letters),
    audit: createAuditLog({ db, file, clock }),
    passwords: ground.passwords ?? createPasswords(),
    sessions: createSessionFinder({ db, clock, digest: digestSession, onFailure }),
    tries: createSignInTries({
      clock,
      digest: (name) => Buffer.from(digestKey(ofTries, name)).toString('base64url'),
      keeper: lockouts,
    }),
    devices: createKnownDevices({ clock, random, secret: deriveKey(secret, 'devices') }),
  }
}

/** Takes away sessions and invitations that are over: they open nothing, and whoever asks is told the same without them. */
export async function sweepPeople({ file, clock }: Pick<PeopleDeps, 'file' | 'clock'>): Promise<void> {
  const now = clock.now()
  await sweepSessions(file, { now, idleSince: now - IDLE_MS })
  await sweepInvites(file, now)
}

/** Whoever is signed in, and since when. */
export interface Session {
  readonly id: SessionId
  readonly row: number
  readonly person: { readonly id: PersonId; readonly row: number; readonly email: string; readonly role: Role }
  /** Undefined for an operator without keys and money of their own. */
  readonly account:
    | { readonly id: AccountId; readonly row: AccountRow; readonly email: string; readonly status: AccountStatus }
    | undefined
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
  /** When the password was last given. */
  readonly confirmedAt: number
}

interface SessionFinder {
  /** By what the browser has; undefined for what opens nothing, or nothing any more. */
  find(secret: string): Promise<Session | undefined>
  /** After every change of a session, a person or an account. */
  forgetAll(): void
}

interface FinderDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly digest: (secret: string) => Uint8Array
  /** That a session was used could not be written down. It goes on. */
  readonly onFailure: (error: unknown) => void
}

/** However much it is used. */
export const SESSION_MS = 7 * 86_400_000
/** When nobody has used it for so long, it is over sooner. */
export const IDLE_MS = 12 * 3_600_000
/** A page that asks every second writes this often. */
const SEEN_EVERY_MS = 60_000
const KNOWN_MAX = 1000

export function createSessionFinder({ db, clock, digest, onFailure }: FinderDeps): SessionFinder {
  // By a hash: a dump of this memory opens nothing.
  const known = createLruMap<string, Session>(KNOWN_MAX)
  let changes = 0

  const lookUp = async (secret: string): Promise<Session | undefined> => {
    const found = await findSessionByDigest(db, digest(secret))
    return found === undefined || found.disabled_at !== null ? undefined : sessionOf(found)
  }

  const seen = async (session: Session, now: number): Promise<Session> => {
    if (now - session.seenAt < SEEN_EVERY_MS) return session
    await touchSession(db, session.row, now).catch(onFailure)
    return { ...session, seenAt: now }
  }

  return {
    async find(secret) {
      if (!isSessionSecret(secret)) return undefined
      const name = hash('sha256', secret, 'base64url')
      const changesBefore = changes
      const found = known.get(name) ?? (await lookUp(secret))
      const now = clock.now()
      if (found === undefined || found.expiresAt <= now || found.seenAt + IDLE_MS <= now) return undefined
      const session = await seen(found, now)
      // What was read before a change must not be remembered after it.
      if (changes === changesBefore) known.set(name, session)
      return session
    },
    forgetAll() {
      changes += 1
      known.clear()
    },
  }
}

const sessionOf = (found: SessionWithPerson): Session => ({
  id: found.id as SessionId,
  row: found.row,
  person: { id: found.person_id as PersonId, row: found.person, email: found.email, role: found.role },
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
  confirmedAt: found.confirmed_at,
})
