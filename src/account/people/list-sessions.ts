import type { z } from 'zod'
import type { sessionItem } from '../../contract/people.ts'
import { listSessionsOfPerson } from '../../store/sessions.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import type { Session } from './find-session.ts'

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
