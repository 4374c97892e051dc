import type { z } from 'zod'
import { mintSessionSecret } from '../auth/secrets.ts'
import type { sessionItem } from '../contract/people.ts'
import { listSessionsOfPerson, sessionDelete, sessionInsert } from '../db/people.ts'
import { type AtomicStatement, UnexpectedChanges } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { mintSessionId, type SessionId } from '../model/ids.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { type PeopleDeps, SESSION_MS, type Session } from './people-deps.ts'
import { isoTime } from './values.ts'

/** From where somebody signs in, as the session list will show it. */
export interface Client {
  /** What the browser calls itself. */
  readonly agent: string
  readonly address: string | undefined
  /** What the browser has kept from earlier sign-ins (`known-devices.ts`). */
  readonly deviceTokens?: string | undefined
}

/** Whoever has just signed in. `secret` is said this once, and opens everything until it ends. */
export interface SignedIn {
  readonly secret: string
  readonly session: Session
}

/** The list of sessions is shown whole, so it has a bound: the oldest goes. */
const SESSIONS_MAX = 50
const AGENT_LENGTH_MAX = 200

interface NewSession {
  readonly id: SessionId
  readonly statements: AtomicStatement[]
  /** When the statements have been carried out. */
  opened(): Promise<SignedIn | undefined>
}

/**
 * Always under a secret that nobody has seen, so that nobody can have put it into the browser before. It comes to be in one
 * step with what it is a part of, and only if the password is still the one that was checked.
 */
export function openSession(
  deps: PeopleDeps,
  whose: { readonly email: string; readonly password: string },
  { agent, address }: Client,
): NewSession {
  const secret = mintSessionSecret(deps.random)
  const id = mintSessionId(deps.random)
  const now = deps.clock.now()
  const row = {
    id,
    digest: deps.digestSession(secret),
    now,
    expiresAt: now + SESSION_MS,
    agent: oneLine(agent),
    address: oneLine(address ?? ''),
  }
  return {
    id,
    statements: sessionInsert(row, whose, SESSIONS_MAX),
    async opened() {
      deps.sessions.forgetAll()
      const session = await deps.sessions.find(secret)
      return session && { secret, session }
    },
  }
}

const oneLine = (text: string): string => text.slice(0, AGENT_LENGTH_MAX).replace(/\p{Cc}/gu, ' ')

/** One of one's own, by the id that the list shows: nobody ends somebody else's, nor learns that it is there. */
export async function endSession(deps: PeopleDeps, session: Session, id: string): Promise<Outcome<{ id: string }>> {
  const own = await listSessionsOfPerson(deps.db, session.person.row)
  const named = own.find((row) => row.id === id)
  const gone = () => refused('session_not_found', 'There is no such session; it may have ended.')
  return named === undefined ? gone() : end(deps, session, named, { action: 'session_ended', otherwise: gone })
}

/** The session that asks. One that has ended meanwhile is signed out as well. */
export const signOut = (deps: PeopleDeps, session: Session): Promise<Outcome<{ id: string }>> =>
  end(deps, session, session, { action: 'signed_out', otherwise: () => done({ id: session.id }) })

interface Manner {
  readonly action: 'session_ended' | 'signed_out'
  readonly otherwise: () => Outcome<{ id: string }>
}

async function end(
  deps: PeopleDeps,
  by: Session,
  { id, row }: { readonly id: string; readonly row: number },
  { action, otherwise }: Manner,
): Promise<Outcome<{ id: string }>> {
  const entry = { actor: by.person.email, action, target: id, account: by.account?.row }
  try {
    await deps.audit.record(entry, [sessionDelete(row)])
  } catch (error) {
    if (error instanceof UnexpectedChanges) return otherwise()
    throw error
  } finally {
    deps.sessions.forgetAll()
  }
  return done({ id })
}

type SessionItem = z.output<typeof sessionItem>

/** Where somebody is signed in, newest first. */
export async function listSessions(
  deps: { readonly db: LedgerDb },
  session: Session,
): Promise<Outcome<{ items: SessionItem[] }>> {
  const rows = await listSessionsOfPerson(deps.db, session.person.row)
  const items = rows.map((row) => ({
    id: row.id,
    current: row.row === session.row,
    agent: row.agent,
    address: row.address,
    created_at: isoTime(row.created_at),
    seen_at: isoTime(row.seen_at),
    expires_at: isoTime(row.expires_at),
  }))
  return done({ items })
}
