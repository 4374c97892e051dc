import { z } from 'zod'
import type { Ledger } from '../ledger/ledger.ts'
import type { VerifyReport } from '../ledger/verify-books.ts'
import { listFrozen } from '../store/accounts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { done, type Outcome } from './outcome.ts'

export const verifyLedgerArgs = z.strictObject({})

export interface VerifyLedgerDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'audit'>
}

export interface BooksReport extends Omit<VerifyReport, 'suspects'> {
  /** Accounts on which nothing moves until they add up again. */
  readonly frozen: readonly string[]
}

/**
 * Adds the books up again, all of them. That they do not hold is an answer, not a failure to answer. Accounts that do not
 * add up are frozen by this, and those that do again are set free.
 */
export async function verifyLedger(deps: VerifyLedgerDeps): Promise<Outcome<BooksReport>> {
  const { suspects: _, ...report } = await deps.ledger.audit({ whole: true })
  return done({ ...report, frozen: (await listFrozen(deps.db)).map(({ id }) => id) })
}
