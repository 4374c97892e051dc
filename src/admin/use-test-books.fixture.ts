import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { type Clock, systemClock } from '../lib/clock.ts'
import { createAccount } from './accounts.ts'
import { openTestLedger, type TestLedger } from './books.fixture.ts'

export interface LedgerOfEachTest extends Omit<TestLedger, 'close'> {
  /** As a process that ends, and the one after it. */
  restart(): Promise<void>
}

interface FundingRequests {
  readonly clock?: Clock
  /** Who has an account, as `ada` for `ada@example.com`, in the order of their rows. */
  readonly owners?: readonly string[]
}

/** Opens books before each test of a file, and closes them behind it. What is read here are those of the test that runs. */
export function useTestLedger({ clock = systemClock, owners = [] }: FundingRequests = {}): LedgerOfEachTest {
  let folder: string
  let books: TestLedger

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-books-'))
    books = await openTestLedger(folder, clock)
    for (const owner of owners) await createAccount(books.deps, { email: `${owner}@example.com` })
  })
  afterEach(async () => {
    await books.close()
    await rm(folder, { recursive: true })
  })

  return {
    get database() {
      return books.database
    },
    get ledger() {
      return books.ledger
    },
    get finder() {
      return books.finder
    },
    get deps() {
      return books.deps
    },
    async restart() {
      await books.close()
      books = await openTestLedger(folder, clock)
    },
  }
}
