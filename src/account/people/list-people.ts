import type { z } from 'zod'
import type { person } from '../../contract/people.ts'
import type { PageQuery } from '../../contract/values.ts'
import { findAccountByRow } from '../../store/accounts.ts'
import { listPeople as listStored, type StoredPerson } from '../../store/people.ts'
import type { Role } from '../../store/people-tables.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type AnyAccount, resolveAccount } from '../accounts/one-account.ts'
import { isoTime, isoTimeOrNull } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { cutPage, type Page, readCursor, writeCursor } from '../pages.ts'
import type { Session } from './find-session.ts'

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

/** Whoever may sign in, the oldest first: all of them, or those of one account. */
export async function listPeople(
  { db }: { readonly db: LedgerDb },
  { account: named, after, limit }: PageQuery & AnyAccount,
): Promise<Outcome<Page<PersonView>>> {
  const resolved = named === undefined ? undefined : await resolveAccount({ db }, named)
  if (resolved?.kind === 'refused') return resolved
  const shown = readCursor(after) ?? 0
  if (typeof shown !== 'number') return shown
  const of = resolved && { account: resolved.account.row }
  const { rows, next } = cutPage(
    await listStored(db, { ...of, after: shown, limit: limit + 1 }),
    limit,
    ({ row }) => row,
  )
  return done({ items: await Promise.all(rows.map((row) => personView(db, row))), next: writeCursor(next) })
}
