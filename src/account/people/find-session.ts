import { hash } from 'node:crypto'
import { isSessionSecret } from '../../keys/session-secret.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLruMap } from '../../lib/lru-map.ts'
import type { AccountId, AccountRow, PersonId, SessionId } from '../../model/ids.ts'
import type { Role } from '../../store/people-tables.ts'
import { findSessionByDigest, type SessionWithPerson, touchSession } from '../../store/sessions.ts'
import type { AccountStatus, LedgerDb } from '../../store/tables.ts'

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

export interface SessionFinder {
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
