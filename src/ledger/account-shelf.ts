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
  /** Reads an account again whose books are not what the file has. Whoever works on it waits until `adopt` has put it in. */
  readAgain(account: AccountRow, adopt: () => Promise<void>): Promise<void>
  /** Of an account that is being read again: resolves when that is over, whatever came of it. */
  reading(account: AccountRow): Promise<void> | undefined
  /** Puts idle accounts away while there are more than this many. */
  tidy(accountsMax: number): void
}

interface AccountShelfDeps {
  readonly db: LedgerDb
  readonly books: Books
  ticks(): number
  /** Accounts on which something was decided that the file does not have yet: it would bring them back without it. */
  pendingAccounts(): ReadonlySet<AccountRow>
}

export function createAccountShelf(deps: AccountShelfDeps): AccountShelf {
  const { books } = deps
  const loading = new Map<AccountRow, Promise<void>>()
  const usedAt = new Map<AccountRow, number>()
  const rereading = new Map<AccountRow, Promise<void>>()

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
        const again = rereading.get(account)
        if (again) {
          await again.catch(() => {})
          continue
        }
        const there = books.accounts.get(account)
        if (there) return work(there)
        const running = loading.get(account) ?? read(account)
        loading.set(account, running)
        await running
      }
    },
    async readAgain(account, adopt) {
      const reading = (rereading.get(account) ?? Promise.resolve()).then(adopt)
      rereading.set(account, reading)
      try {
        await reading
      } finally {
        if (rereading.get(account) === reading) rereading.delete(account)
      }
    },
    reading: (account) => rereading.get(account)?.catch(() => {}),
    tidy(accountsMax) {
      if (books.accounts.size <= accountsMax) return
      const holding = new Set([...books.turns.values()].map((turn) => turn.account))
      const unrecorded = deps.pendingAccounts()
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
