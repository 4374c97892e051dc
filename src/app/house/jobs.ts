import { sweepPeople } from '../../account/people/people-deps.ts'
import type { VerifyReport } from '../../ledger/verify-books.ts'
import type { Closing } from '../../lib/closing.ts'
import type { HouseLog } from './house.ts'
import type { Parts } from './parts.ts'

/** So long the hold of a turn that a fault of our own has lost may stand. */
const SWEEP_INTERVAL_MS = 5000
const PEOPLE_SWEEP_INTERVAL_MS = 600_000
const REFUSED_SWEEP_INTERVAL_MS = 3_600_000
const AUDIT_INTERVAL_MS = 3_600_000

/** What a server does every so often, whether somebody asks it or not. */
export function startJobs(parts: Parts, closing: Closing): void {
  const { ledger, answers, responses, refusedTurns, people, log } = parts
  const sweepEvery = (intervalMs: number, what: string, sweep: () => Promise<unknown>) =>
    closing.add(startSweeper({ sweep, what, log }, intervalMs))
  sweepEvery(SWEEP_INTERVAL_MS, 'the books', () => ledger.sweep())
  sweepEvery(SWEEP_INTERVAL_MS, 'the kept answers', () => answers.sweep())
  sweepEvery(SWEEP_INTERVAL_MS, 'the stored responses', () => responses.sweep())
  sweepEvery(PEOPLE_SWEEP_INTERVAL_MS, 'sessions and invitations', () => sweepPeople(people))
  sweepEvery(REFUSED_SWEEP_INTERVAL_MS, 'counts of refused requests', () => refusedTurns.sweep())
  closing.add(startAuditor(parts, AUDIT_INTERVAL_MS))
}

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

interface SweeperDeps {
  readonly sweep: () => Promise<unknown>
  /** What is swept, for the log. */
  readonly what: string
  readonly log: Pick<HouseLog, 'error'>
}

/** Sweeps every so often until it is stopped. One that fails is told of, and the next one tries again. */
export function startSweeper({ sweep, what, log }: SweeperDeps, intervalMs: number): () => void {
  const timer = setInterval(() => {
    sweep().catch((error: unknown) => log.error({ error }, `${what} could not be swept; the next sweep tries again`))
  }, intervalMs).unref()
  return () => clearInterval(timer)
}
