import { sweepPeople } from '../admin/sessions.ts'
import type { VerifyReport } from '../ledger/verify.ts'
import type { Closing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { type RandomBytes, uniform } from '../lib/random-id.ts'
import type { OpenCircuit, OpenReason } from '../routing/circuit-breaker.ts'
import { createLaneHealth, type LaneHealth } from '../routing/lane-health.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AppLog, Services } from './app.ts'
import type { RuleBook } from './rules.ts'

/** So long the hold of a turn that a fault of our own has lost may stand. */
const SWEEP_INTERVAL_MS = 5000
const PEOPLE_SWEEP_INTERVAL_MS = 600_000
const REFUSED_SWEEP_INTERVAL_MS = 3_600_000
const AUDIT_INTERVAL_MS = 3_600_000

/** What a server does every so often, whether somebody asks it or not. */
export function startJobs(parts: Services, closing: Closing): void {
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
  readonly metrics: { ledgerAudited(report: { readonly violations: number }): void }
  readonly log: Pick<AppLog, 'error'>
}

/** Proves every so often what has come into the books since the last time. One audit at a time. */
export function startAuditor({ ledger, metrics, log }: AuditorDeps, intervalMs: number): () => void {
  let auditing = false
  const audit = async (): Promise<void> => {
    const report = await ledger.audit({ whole: false })
    metrics.ledgerAudited(report)
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
  readonly log: Pick<AppLog, 'error'>
}

/** Sweeps every so often until it is stopped. One that fails is told of, and the next one tries again. */
export function startSweeper({ sweep, what, log }: SweeperDeps, intervalMs: number): () => void {
  const timer = setInterval(() => {
    sweep().catch((error: unknown) => log.error({ error }, `${what} could not be swept; the next sweep tries again`))
  }, intervalMs).unref()
  return () => clearInterval(timer)
}

interface WatchDeps {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly rules: RuleBook
  readonly log: Log
  readonly metrics: Metrics
}

/** The health of the lanes, with a line in the log when one is put aside and comes back, and a metric of those that are. */
export function watchLanes({ clock, random, rules, log, metrics }: WatchDeps): LaneHealth {
  const health = createLaneHealth({
    nowMicros: () => clock.nowMicros(),
    random: () => uniform(random),
    failing: () => rules.current.routing.putAside,
    onChange: (whose, aside) => say(log, whose, aside, clock.nowMicros()),
  })
  const lanes = () => rules.current.catalog.models.flatMap((model) => model.lanes)
  metrics.watchOpenLanes(() =>
    lanes().flatMap((lane) => {
      const aside = health.openCircuitOf(lane)
      return aside ? [{ lane: lane.id, reason: aside.reason }] : []
    }),
  )
  return health
}

function say(log: Log, whose: string, aside: OpenCircuit | undefined, now: number): void {
  if (aside === undefined) {
    log.info({ lane: whose }, 'a lane is asked again')
    return
  }
  const facts = { lane: whose, seconds: Math.ceil((aside.until - now) / 1_000_000) }
  const { level, message } = WORDS[aside.reason]
  log[level](facts, message)
}

const WORDS = {
  busy: { level: 'info', message: 'a lane limits requests and is left alone' },
  overloaded: { level: 'info', message: 'a lane is overloaded and is left alone as it asks' },
  failing: { level: 'warn', message: 'a lane fails and is left alone' },
  'locked-out': {
    level: 'warn',
    message:
      'a provider refuses the credential, the account or the model name, and is left alone: millrace upstreams test says why',
  },
} as const satisfies Record<OpenReason, object>
