import type { Ledger } from '../ledger/ledger.ts'
import type { VerifyReport } from '../ledger/verify-books.ts'
import { listFrozen } from '../store/accounts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { done, type Outcome } from './outcome.ts'
import { verifyAudit } from './trail/verify-audit.ts'

export interface VerifyLedgerDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'audit'>
}

export interface BooksReport extends Omit<VerifyReport, 'suspects'> {
  /** Accounts on which nothing moves until they add up again. */
  readonly frozen: readonly string[]
  /** Acts in the audit trail. */
  readonly audited: number
  /** The hash of the last of them: noted elsewhere, it tells later whether the end of the trail was cut off. */
  readonly audit_head: string
}

/**
 * Adds the books up again, all of them. That they do not hold is an answer, not a failure to answer. Accounts that do not
 * add up are frozen by this, and those that do again are set free. The audit trail is proved with them.
 */
export async function verifyLedger(deps: VerifyLedgerDeps): Promise<Outcome<BooksReport>> {
  const { suspects: _, ...report } = await deps.ledger.audit({ whole: true })
  const audit = await verifyAudit(deps)
  const words = audit.broken_at === null ? '' : ` (first at ${audit.broken_at})`
  const unbroken = { name: `the audit trail is one unbroken chain${words}`, violations: audit.violations }
  return done({
    ...report,
    ok: report.ok && audit.violations === 0,
    violations: report.violations + audit.violations,
    checks: [...report.checks, unbroken],
    frozen: (await listFrozen(deps.db)).map(({ id }) => id),
    audited: audit.rows,
    audit_head: audit.head,
  })
}
