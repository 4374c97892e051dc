import { z } from 'zod'
import type { AccountRow } from '../model/ids.ts'
import { listPeople as listStored, type StoredPerson } from '../store/people.ts'
import type { LedgerDb } from '../store/tables.ts'
import { done, type Outcome } from './outcome.ts'
import { type PersonView, personView } from './person-view.ts'
import { nameArgument } from './plain-text.ts'
import { resolveAccount } from './resolve-account.ts'

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
