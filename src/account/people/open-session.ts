import { mintSessionSecret } from '../../keys/session-secret.ts'
import { mintSessionId, type SessionId } from '../../model/ids.ts'
import type { AtomicStatement } from '../../sqlite/sqlite-file.ts'
import { sessionInsert } from '../../store/sessions.ts'
import { SESSION_MS, type Session } from './find-session.ts'
import type { PeopleDeps } from './people-deps.ts'

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
