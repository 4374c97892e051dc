import type { AccountBooks, Books } from '../books/books.ts'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerDb } from '../store/tables.ts'
import { loadAccountBooks } from './load-account.ts'

/** Brings accounts into memory when they are first needed, and puts away those that nobody has used for a while. */
export interface AccountShelf {
  /**
   * Calls `work` with the account's books, in the same step in which they are found in memory: at once where they are
   * there. Nobody works on books that were replaced while they waited.
   */
  withBooks<Result>(account: AccountRow, work: (books: AccountBooks) => Result | Promise<Result>): Promise<Result>
  /** The account stays until this is over: before, the file does not know yet what memory has decided. */
  keepUntil(account: AccountRow, recorded: Promise<unknown>): void
  /** Puts idle accounts away while there are more than this many. */
  tidy(accountsMax: number): void
}

export function createAccountShelf(deps: { db: LedgerDb; books: Books; ticks(): number }): AccountShelf {
  const { books } = deps
  const loading = new Map<AccountRow, Promise<void>>()
  const usedAt = new Map<AccountRow, number>()
  const unrecorded = new Map<AccountRow, Promise<unknown>>()

  const read = async (account: AccountRow): Promise<void> => {
    try {
      const shelved = await loadAccountBooks(deps.db, account)
      // Between the question and the answer nothing can have moved: money only moves on accounts that are here.
      if (!books.accounts.has(account)) books.accounts.set(account, shelved)
    } finally {
      loading.delete(account)
    }
  }

  return {
    async withBooks(account, work) {
      usedAt.set(account, deps.ticks())
      // Whoever waited asks again: the books may have been read anew meanwhile, without it.
      for (;;) {
        const there = books.accounts.get(account)
        if (there) return work(there)
        const running = loading.get(account) ?? read(account)
        loading.set(account, running)
        await running
      }
    },
    keepUntil(account, recorded) {
      // A batch is one promise for all that is in it, and batches end in their order: the newest is the last.
      if (unrecorded.get(account) === recorded) return
      unrecorded.set(account, recorded)
      const release = () => {
        if (unrecorded.get(account) === recorded) unrecorded.delete(account)
      }
      void recorded.then(release, release)
    },
    tidy(accountsMax) {
      if (books.accounts.size <= accountsMax) return
      const holding = new Set([...books.turns.values()].map((turn) => turn.account))
      const idleBefore = deps.ticks() - IDLE_MICROS
      for (const account of books.accounts.keys()) {
        if (books.accounts.size <= accountsMax) break
        if (holding.has(account) || unrecorded.has(account) || (usedAt.get(account) ?? 0) > idleBefore) continue
        books.accounts.delete(account)
      }
      for (const account of usedAt.keys()) if (!books.accounts.has(account)) usedAt.delete(account)
    },
  }
}

const IDLE_MICROS = 600_000_000
