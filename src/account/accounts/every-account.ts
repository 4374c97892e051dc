import { listAccounts, type StoredAccount } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'

const PAGE = 500

/** All accounts, oldest first, asked for page by page so that a large installation does not hold up the ledger. */
export async function* everyAccount(deps: { readonly db: LedgerDb }): AsyncGenerator<StoredAccount> {
  let after = 0
  for (;;) {
    const page = await listAccounts(deps.db, { after, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.row
  }
}
