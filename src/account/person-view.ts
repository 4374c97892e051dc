import type { z } from 'zod'
import type { person } from '../contract/people.ts'
import { findAccountByRow } from '../store/accounts.ts'
import type { StoredPerson } from '../store/people.ts'
import type { Role } from '../store/people-tables.ts'
import type { LedgerDb } from '../store/tables.ts'
import type { Session } from './find-session.ts'
import { isoTime, isoTimeOrNull } from './iso-time.ts'

/** Whoever is signed in, as the console is told. */
export const signedInView = ({ person: { id, email, role }, account }: Session): z.output<typeof person> => ({
  id,
  email,
  role,
  account: account === undefined ? null : { id: account.id, email: account.email, status: account.status },
})

/** Somebody who may sign in, as an operator sees them. */
export interface PersonView {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly account: string | null
  readonly created_at: string
  readonly disabled_at: string | null
}

export async function personView(db: LedgerDb, stored: StoredPerson): Promise<PersonView> {
  const account = stored.account === null ? undefined : await findAccountByRow(db, stored.account)
  return {
    id: stored.id,
    email: stored.email,
    role: stored.role,
    account: account?.id ?? null,
    created_at: isoTime(stored.created_at),
    disabled_at: isoTimeOrNull(stored.disabled_at),
  }
}
