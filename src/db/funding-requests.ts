import type { Selectable } from 'kysely'
import { statementOf } from './record-changes.ts'
import type { AtomicStatement } from './sqlite/sqlite-file.ts'
import type { FundingRequestsTable, LedgerDb } from './tables.ts'

export type StoredFundingRequest = Selectable<FundingRequestsTable>

/** An account has one open wish: asking again says it anew. It keeps its place in the line. */
export function fundingRequestPut(
  db: LedgerDb,
  wish: Pick<StoredFundingRequest, 'account' | 'amount_nano' | 'note' | 'at'>,
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

export const findOpenFundingRequest = (db: LedgerDb, account: number): Promise<StoredFundingRequest | undefined> =>
  db.selectFrom('wishes').selectAll().where('account', '=', account).where('answered_at', 'is', null).executeTakeFirst()

/** A wish with whose it is. */
interface FundingRequestWithAccount extends StoredFundingRequest {
  account_id: string
  email: string
}

/** Those that nobody has answered, in the order in which they were first said. */
export const listOpenFundingRequests = (
  db: LedgerDb,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<FundingRequestWithAccount[]> =>
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
