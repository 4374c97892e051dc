import { z } from 'zod'
import { type VerifyReport, verifyBooks } from '../ledger/verify-books.ts'
import type { LedgerDb } from '../store/tables.ts'
import { done, type Outcome } from './outcome.ts'

export const verifyLedgerArgs = z.strictObject({})

/** Adds the books up again. That they do not hold is an answer, not a failure to answer. */
export async function verifyLedger(deps: { readonly db: LedgerDb }): Promise<Outcome<VerifyReport>> {
  return done(await verifyBooks(deps))
}
