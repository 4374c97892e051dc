import { z } from 'zod'
import type { person } from '../../contract/people.ts'
import type { AccountRow } from '../../model/ids.ts'
import { findAccountByRow } from '../../store/accounts.ts'
import { listPeople as listStored, type StoredPerson } from '../../store/people.ts'
import type { Role } from '../../store/people-tables.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { resolveAccount } from '../accounts/one-account.ts'
import { nameArgument } from '../arguments.ts'
import { isoTime, isoTimeOrNull } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
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

export const listPeopleArgs = z.strictObject({ account: nameArgument.optional() })

const PAGE = 500

/** Whoever may sign in: all of them, or those of one account. */
export async function listPeople(
  deps: { readonly db: LedgerDb },
  args: z.output<typeof listPeopleArgs>,
): Promise<Outcome<{ people: PersonView[] }>> {
  const resolved = args.account === undefined ? undefined : await resolveAccount(deps, args.account)
  if (resolved?.kind === 'refused') return resolved
  const people: PersonView[] = []
  const account = resolved?.account.row as AccountRow | undefined
  for await (const person of everyPerson(deps.db, account)) people.push(await personView(deps.db, person))
  return done({ people })
}

async function* everyPerson(db: LedgerDb, account: AccountRow | undefined): AsyncGenerator<StoredPerson> {
  let after = 0
  for (;;) {
    const page = await listStored(db, { after, limit: PAGE, ...(account !== undefined && { account }) })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.row
  }
}
