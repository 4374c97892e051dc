import { listFrozen } from '../db/accounts.ts'
import type { IntegrityReport } from '../db/sqlite/check-integrity.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { VerifyReport } from '../ledger/verify.ts'
import { verifyAudit } from './audit.ts'
import { done, type Outcome } from './outcome.ts'

export interface VerifyLedgerDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'audit'>
  /** Looks at the structure of the database files; left out where there are none. */
  readonly checkFiles?: () => Promise<readonly FileCheck[]>
}

export interface FileCheck {
  /** e.g. `ledger.db`. */
  readonly file: string
  readonly report: IntegrityReport
}

interface LedgerReport extends Omit<VerifyReport, 'suspects'> {
  /** Accounts on which nothing moves until they add up again. */
  readonly frozen: readonly string[]
  /** Acts in the audit trail. */
  readonly audited: number
  /** The hash of the last of them: noted elsewhere, it tells later whether the end of the trail was cut off. */
  readonly audit_head: string
  /** What is wrong with the files themselves, in words; also that a check had to be given up. */
  readonly damage: readonly string[]
}

/**
 * Adds the books up again, all of them. That they do not hold is an answer, not a failure to answer. Accounts that do not
 * add up are frozen by this, and those that do again are set free. The audit trail is proved with them.
 */
export async function verifyLedger(deps: VerifyLedgerDeps): Promise<Outcome<LedgerReport>> {
  const files = (await deps.checkFiles?.()) ?? []
  const checks = files.map(({ file, report }) => ({
    name: `${file} is undamaged`,
    violations: report.kind === 'checked' ? report.findings.length : 0,
  }))
  const violations = checks.reduce((sum, check) => sum + check.violations, 0)
  const damage = files.flatMap(wordsOf)
  try {
    const books = await verifyRows(deps)
    return done({
      ...books,
      ok: books.ok && violations === 0,
      violations: books.violations + violations,
      checks: [...books.checks, ...checks],
      damage,
    })
  } catch (error) {
    if (violations === 0) throw error
    // The file is known to be damaged, and this is how it shows.
    const unread = { name: 'the rows can be read', violations: 1 }
    return done({
      ...{ ok: false, violations: violations + 1, checks: [unread, ...checks], damage },
      ...{ accounts: 0, receipts: 0, transfers: 0, frozen: [], audited: 0, audit_head: '' },
    })
  }
}

const wordsOf = ({ file, report }: FileCheck): string[] =>
  report.kind === 'checked'
    ? report.findings.map((finding) => `${file}: ${finding}`)
    : [`${file}: not checked, because too much was written meanwhile. Run this again when less is asked.`]

async function verifyRows(deps: VerifyLedgerDeps): Promise<Omit<LedgerReport, 'damage'>> {
  const { suspects: _, ...report } = await deps.ledger.audit({ whole: true })
  const audit = await verifyAudit(deps)
  const words = audit.broken_at === null ? '' : ` (first at ${audit.broken_at})`
  const unbroken = { name: `the audit trail is one unbroken chain${words}`, violations: audit.violations }
  return {
    ...report,
    ok: report.ok && audit.violations === 0,
    violations: report.violations + audit.violations,
    checks: [...report.checks, unbroken],
    frozen: (await listFrozen(deps.db)).map(({ id }) => id),
    audited: audit.rows,
    audit_head: audit.head,
  }
}
