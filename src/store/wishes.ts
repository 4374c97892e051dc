import type { Selectable } from 'kysely'
import type { AtomicStatement } from '../sqlite/sqlite-file.ts'
import { statementOf } from './row-statements.ts'
import type { LedgerDb, WishesTable } from './tables.ts'

export type StoredWish = Selectable<WishesTable>

/** An account has one open wish: asking again says it anew. It keeps its place in the line. */
export function wishPut(
  db: LedgerDb,
  wish: Pick<StoredWish, 'account' | 'amount_nano' | 'note' | 'at'>,
): AtomicStatement {
  const { amount_nano, note, at } = wish
  const query = db
    .insertInto('wishes')
    .values(wish)
    .onConflict((conflict) =>
      conflict.column('account').where('answered_at', 'is', null).doUpdateSet({ amount_nano, note, at }),
    )
  return statementOf(query, 1)
}

export const findOpenWish = (db: LedgerDb, account: number): Promise<StoredWish | undefined> =>
  db.selectFrom('wishes').selectAll().where('account', '=', account).where('answered_at', 'is', null).executeTakeFirst()

/** A wish with whose it is. */
export interface WishWithAccount extends StoredWish {
  account_id: string
  email: string
}

/** Those that nobody has answered, in the order in which they were first said. */
export const listOpenWishes = (
  db: LedgerDb,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<WishWithAccount[]> =>
  db
    .selectFrom('wishes')
    .innerJoin('accounts', 'accounts.row', 'wishes.account')
    .selectAll('wishes')
    .select(['accounts.id as account_id', 'accounts.email'])
    .where('wishes.answered_at', 'is', null)
    .where('wishes.row', '>', after)
    .orderBy('wishes.row')
    .limit(limit)
    .execute()
