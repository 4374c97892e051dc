import type { StoredAccount } from './accounts.ts'
import type { LedgerDb } from './tables.ts'

export interface CountedAccount extends StoredAccount {
  /** That are not revoked. */
  keys: number
  people: number
}

/** Newest first, of those whose e-mail or id has the text in it. The next page begins behind the row of this one's last. */
export const listAccountsLike = (
  db: LedgerDb,
  { before, limit, search }: { readonly before: number; readonly limit: number; readonly search: string | undefined },
): Promise<CountedAccount[]> =>
  db
    .selectFrom('accounts')
    .selectAll('accounts')
    .select(({ selectFrom }) => [
      selectFrom('keys')
        .select(({ fn }) => fn.countAll<number>().as('keys'))
        .whereRef('keys.account', '=', 'accounts.row')
        .where('revoked_at', 'is', null)
        .$asScalar()
        .$notNull()
        .as('keys'),
      selectFrom('people')
        .select(({ fn }) => fn.countAll<number>().as('people'))
        .whereRef('people.account', '=', 'accounts.row')
        .$asScalar()
        .$notNull()
        .as('people'),
    ])
    .where('row', '<', before)
    .$if(search !== undefined, (query) =>
      query.where(({ eb, or, fn, val }) =>
        or([
          eb(fn('instr', ['accounts.email', val(search!.toLowerCase())]), '>', 0),
          eb(fn('instr', ['accounts.id', val(search!)]), '>', 0),
        ]),
      ),
    )
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()
