import { UnexpectedChanges } from '../../sqlite/sqlite-file.ts'
import { listSessionsOfPerson, sessionDelete } from '../../store/sessions.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import type { Session } from './find-session.ts'
import type { PeopleDeps } from './people-deps.ts'

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
