import type { VerifyReport } from '../ledger/verify-books.ts'
import type { HouseLog } from './house.ts'

interface AuditorDeps {
  readonly ledger: { audit(options: { readonly whole: boolean }): Promise<VerifyReport> }
  readonly metrics: { booksAudited(report: { readonly violations: number }): void }
  readonly log: Pick<HouseLog, 'error'>
}

/** Proves every so often what has come into the books since the last time. One audit at a time. */
export function startAuditor({ ledger, metrics, log }: AuditorDeps, intervalMs: number): () => void {
  let auditing = false
  const audit = async (): Promise<void> => {
    const report = await ledger.audit({ whole: false })
    metrics.booksAudited(report)
    if (report.ok) return
    const broken = report.checks.filter(({ violations }) => violations > 0)
    log.error(
      { violations: report.violations, checks: broken, frozen_accounts: report.suspects.length },
      'the books do not add up; accounts concerned are frozen: see millrace db verify',
    )
  }
  const timer = setInterval(() => {
    if (auditing) return
    auditing = true
    audit()
      .catch((error: unknown) => log.error({ error }, 'the books could not be verified; the next audit tries again'))
      .finally(() => {
        auditing = false
      })
  }, intervalMs).unref()
  return () => clearInterval(timer)
}
