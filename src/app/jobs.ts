import { topUpWallets } from '../admin/automatic-top-ups.ts'
import { finishRedemptions } from '../admin/codes.ts'
import { sweepPaymentEvents } from '../admin/payment-news.ts'
import { eraseConversationsOfLeavers } from '../admin/playground.ts'
import { reconcilePayments } from '../admin/reconcile-payments.ts'
import type { AdminServices } from '../admin/services.ts'
import { sweepPeople } from '../admin/sessions.ts'
import { failAbandoned } from '../db/content/response-rows.ts'
import type { VerifyReport } from '../ledger/ledger.ts'
import type { Closing } from '../lib/async.ts'
import { uniform } from '../lib/random-id.ts'
import type { Occurrence } from '../notices/tell.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import { createLaneHealth, type LaneHealth } from '../routing/circuit-breaker.ts'
import type { AppLog, Services } from './app.ts'

/** How long the hold of a turn can stay after an internal error lost the turn. */
const SWEEP_INTERVAL_MS = 5000
const CONVERSATIONS_SWEEP_INTERVAL_MS = 60_000
const PEOPLE_SWEEP_INTERVAL_MS = 600_000
const REFUSED_SWEEP_INTERVAL_MS = 3_600_000
const AUDIT_INTERVAL_MS = 3_600_000
const SIGNALS_SWEEP_INTERVAL_MS = 60_000
const BUILDS_SWEEP_INTERVAL_MS = 3_600_000
/** A code is credited in this time after it was redeemed, or its node has died. */
export const REDEEMED_WITHIN_MS = 60_000
const TOP_UPS_INTERVAL_MS = 15_000
const RECONCILE_INTERVAL_MS = 3_600_000
const CALL_SEALS_SWEEP_INTERVAL_MS = 300_000
/** Longer than any query of contents, so that one run moves contents and the next drops where they were. */
const BODIES_SWEEP_INTERVAL_MS = 60_000
/** A response is written while the hold of its request is on the way. */
const ABANDONED_AFTER_MS = 20_000

/** The periodic jobs of a server. */
export function startJobs(services: Services, admin: AdminServices, closing: Closing): void {
  const { ledger, answers, responses, callSeals, refusedTurns, served, people, clock, log, database } = services
  const sweepAlways = (intervalMs: number, what: string, sweep: () => Promise<unknown>) =>
    closing.add(startSweeper({ sweep, what, log }, intervalMs))
  /** On PostgreSQL one of all nodes does it. */
  const sweepEvery = (intervalMs: number, what: string, sweep: () => Promise<unknown>) =>
    sweepAlways(intervalMs, what, async () => {
      if (database.kind === 'sqlite' || (await database.claimJob(what, intervalMs))) await sweep()
    })
  sweepAlways(SWEEP_INTERVAL_MS, 'open holds', () => ledger.sweep())
  if (database.kind === 'postgres') {
    // At once: before a node of another build could take it for unused.
    database
      .tidyBuilds()
      .catch((error: unknown) => log.error({ error }, 'functions of former builds could not be swept'))
    // Codes whose node died before it credited them.
    sweepEvery(REDEEMED_WITHIN_MS, 'redeemed codes', () =>
      finishRedemptions({
        ...services,
        redeemedBefore: clock.now() - REDEEMED_WITHIN_MS,
        onUnfinished: (code, reason) => log.warn({ code, reason }, 'a redeemed code could not be credited yet'),
      }),
    )
    sweepAlways(BUILDS_SWEEP_INTERVAL_MS, 'functions of former builds', () => database.tidyBuilds())
    if (callSeals) sweepEvery(CALL_SEALS_SWEEP_INTERVAL_MS, 'reasoning before tool calls', () => callSeals.sweep())
    sweepEvery(BODIES_SWEEP_INTERVAL_MS, 'days of contents', () => database.sweepBodies(clock.now()))
    sweepEvery(SIGNALS_SWEEP_INTERVAL_MS, 'signals between nodes', () => database.forgetSignals())
  }
  sweepEvery(SWEEP_INTERVAL_MS, 'abandoned responses', () => {
    const createdBefore = clock.now() - ABANDONED_AFTER_MS
    return database.kind === 'postgres'
      ? failAbandoned(database.content, createdBefore)
      : responses.failAbandoned(database.file, createdBefore)
  })
  sweepEvery(SWEEP_INTERVAL_MS, 'kept answers', () => answers.sweep())
  sweepEvery(SWEEP_INTERVAL_MS, 'stored responses', () => responses.sweep())
  sweepEvery(CONVERSATIONS_SWEEP_INTERVAL_MS, 'conversations of people who have left', () =>
    eraseConversationsOfLeavers(services),
  )
  sweepEvery(PEOPLE_SWEEP_INTERVAL_MS, 'sessions, invitations and idempotency keys', () => sweepPeople(people))
  sweepEvery(REFUSED_SWEEP_INTERVAL_MS, 'counts of refused requests', () => refusedTurns.sweep())
  if (admin.payments !== undefined) {
    sweepEvery(TOP_UPS_INTERVAL_MS, 'automatic top-ups', () =>
      topUpWallets(admin, {
        onUnfinished: (payment, reason) => log.warn({ payment, reason }, 'an automatic top-up has no outcome yet'),
      }),
    )
    sweepEvery(RECONCILE_INTERVAL_MS, 'payments by card', () => reconcile(admin, log))
    sweepEvery(RECONCILE_INTERVAL_MS, 'events of payments', () => sweepPaymentEvents(admin))
  }
  sweepEvery(REFUSED_SWEEP_INTERVAL_MS, 'calls of lanes', () => served.sweep())
  const isDue = async () => database.kind === 'sqlite' || database.claimJob('audit', AUDIT_INTERVAL_MS)
  const onUnproved = (violations: number, checks: readonly string[]) =>
    services.notices.watch.tell(unproved(violations, checks, clock.now()))
  closing.add(startAuditor({ ...services, isDue, onUnproved }, AUDIT_INTERVAL_MS))
}

/** A difference means that a webhook was missed. */
async function reconcile(admin: AdminServices, log: Pick<AppLog, 'warn'>): Promise<void> {
  const { differences, failures } = (await reconcilePayments(admin, {})).value
  if (differences.length > 0)
    log.warn({ payments: differences.length }, 'payments were found that no webhook had brought')
  if (failures.length > 0) log.warn({ failures }, 'payments could not be compared with the provider')
}
/** Told once a day, while it stays so. */
const unproved = (violations: number, checks: readonly string[], now: number): Occurrence => ({
  once: `unproved:${new Date(now).toISOString().slice(0, 10)}`,
  ...{ event: 'verification.failed', account: null, person: null },
  facts: { violations, checks: checks.join(', ').slice(0, 400) },
})

interface AuditorServices {
  readonly ledger: { audit(options: { readonly whole: boolean }): Promise<VerifyReport> }
  readonly metrics: { ledgerAudited(report: { readonly violations: number }): void }
  readonly log: Pick<AppLog, 'error'>
  readonly isDue: () => Promise<boolean>
  /** With the names of the checks that found them. */
  readonly onUnproved: (violations: number, checks: readonly string[]) => Promise<unknown>
}

/** Verifies at intervals what the ledger recorded since the last audit. One audit runs at a time. */
export function startAuditor(
  { ledger, metrics, log, isDue, onUnproved }: AuditorServices,
  intervalMs: number,
): () => void {
  let auditing = false
  const audit = async (): Promise<void> => {
    if (!(await isDue())) return
    const report = await ledger.audit({ whole: false })
    metrics.ledgerAudited(report)
    if (report.ok) return
    const broken = report.checks.filter(({ violations }) => violations > 0)
    log.error(
      { violations: report.violations, checks: broken, frozen_accounts: report.suspects.length },
      'the ledger does not balance; the accounts concerned are frozen: run millrace db verify',
    )
    await onUnproved(
      report.violations,
      broken.map(({ name }) => name),
    )
  }
  const timer = setInterval(() => {
    if (auditing) return
    auditing = true
    audit()
      .catch((error: unknown) => log.error({ error }, 'the ledger could not be verified; the next audit tries again'))
      .finally(() => {
        auditing = false
      })
  }, intervalMs).unref()
  return () => clearInterval(timer)
}

interface Sweeper {
  readonly sweep: () => Promise<unknown>
  /** For the log. */
  readonly what: string
  readonly log: Pick<AppLog, 'error'>
}

/** Sweeps at intervals until it is stopped. The next sweep follows a failed one. */
export function startSweeper({ sweep, what, log }: Sweeper, intervalMs: number): () => void {
  const timer = setInterval(() => {
    sweep().catch((error: unknown) => log.error({ error }, `${what} could not be swept; the next sweep tries again`))
  }, intervalMs).unref()
  return () => clearInterval(timer)
}

type LaneServices = Pick<Services, 'clock' | 'random' | 'rules' | 'log' | 'metrics'>

/** The circuit breakers of the lanes, with a log line when one opens or closes and a metric of the open ones. */
export function watchLanes({ clock, random, rules, log, metrics }: LaneServices): LaneHealth {
  const health = createLaneHealth({
    nowMicros: clock.nowMicros,
    random: () => uniform(random),
    rules,
    onChange(lane, circuit) {
      if (circuit === undefined) return log.info({ lane }, 'circuit closed: the lane gets requests again')
      const lanes = rules.current.catalog.models.flatMap((model) => model.lanes)
      // A refused credential is that of an upstream, and so of all its lanes.
      const cooled = lanes.filter(({ id, upstream }) => id === lane || upstream.id === lane)
      for (const id of new Set(cooled.map((each) => each.id))) metrics.laneCooledDown(id, circuit.reason)
      const { level, message } = CIRCUIT_OPENED[circuit.reason]
      log[level]({ lane, seconds: Math.ceil((circuit.until - clock.nowMicros()) / 1_000_000) }, message)
    },
  })
  metrics.watchOpenLanes(() =>
    rules.current.catalog.models
      .flatMap((model) => model.lanes)
      .flatMap((lane) => {
        const circuit = health.openCircuitOf(lane)
        return circuit ? [{ lane: lane.id, reason: circuit.reason }] : []
      }),
  )
  return health
}

const CIRCUIT_OPENED = {
  busy: { level: 'info', message: 'circuit open: the lane limits requests' },
  overloaded: { level: 'info', message: 'circuit open: the lane is overloaded and asked to wait' },
  failing: { level: 'warn', message: 'circuit open: the lane fails' },
  'locked-out': {
    level: 'warn',
    message:
      'circuit open: the provider refuses the credential, the account or the model name; millrace upstreams test says why',
  },
} as const satisfies Record<OpenReason, object>
