import type { Kysely } from 'kysely'
import type { AccountBooks, Books } from '../books/books.ts'
import type { AccountRow, BucketRow } from '../model/ids.ts'
import { findWallet } from '../store/buckets.ts'
import type { LedgerTables } from '../store/tables.ts'

/** Brings accounts into memory when they are first needed, and puts away those that nobody has used for a while. */
export interface AccountShelf {
  /** Undefined when it is already there, so that the usual case does not wait. */
  load(account: AccountRow): Promise<void> | undefined
  /** Puts idle accounts away while there are more than this many. */
  tidy(accountsMax: number): void
}

export function createAccountShelf(deps: { db: Kysely<LedgerTables>; books: Books; ticks(): number }): AccountShelf {
  const { books } = deps
  const loading = new Map<AccountRow, Promise<void>>()
  const usedAt = new Map<AccountRow, number>()

  const read = async (account: AccountRow): Promise<void> => {
    try {
      const wallet = await findWallet(deps.db, account)
      if (!wallet) throw new Error(`Account ${account} has no wallet`)
      // Between the question and the answer nothing can have moved: money only moves on accounts that are here.
      const shelved: AccountBooks = {
        account,
        wallet: { row: wallet.row as BucketRow, posted: wallet.posted_nano, held: wallet.held_nano },
      }
      if (!books.accounts.has(account)) books.accounts.set(account, shelved)
    } finally {
      loading.delete(account)
    }
  }

  return {
    load(account) {
      usedAt.set(account, deps.ticks())
      if (books.accounts.has(account)) return undefined
      const running = loading.get(account) ?? read(account)
      loading.set(account, running)
      return running
    },
    tidy(accountsMax) {
      const idleBefore = deps.ticks() - IDLE_MICROS
      for (const [account, { wallet }] of books.accounts) {
        if (books.accounts.size <= accountsMax) return
        if (wallet.held !== 0n || (usedAt.get(account) ?? 0) > idleBefore) continue
        books.accounts.delete(account)
        usedAt.delete(account)
      }
    },
  }
}

/** Far longer than any batch takes to be recorded, so what is put away has nothing unrecorded. */
const IDLE_MICROS = 600_000_000
