import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { remember } from '../lib/collections.ts'
import type { Attempt } from '../model/ending.ts'
import type { Usage } from '../model/price.ts'

/**
 * Every metric. The two of the OpenTelemetry GenAI conventions keep those names in Prometheus spelling (underscores for dots, the
 * unit as a suffix), so that ready-made dashboards find them.
 */
export const METRIC = {
  requests: 'millrace_http_requests_total',
  turns: 'millrace_turns_total',
  tokens: 'millrace_tokens_total',
  charged: 'millrace_charged_nano_usd_total',
  shortfall: 'millrace_shortfall_nano_usd_total',
  estimateError: 'millrace_estimate_error_ratio',
  laneAttempts: 'millrace_lane_attempts_total',
  failovers: 'millrace_failovers_total',
  openLanes: 'millrace_lanes_aside',
  reloadRefused: 'millrace_config_reload_refused',
  turnsRunning: 'millrace_turns_running',
  memoryUsed: 'millrace_memory_budget_used_bytes',
  memoryMax: 'millrace_memory_budget_bytes',
  queueLength: 'millrace_queue_length',
  strained: 'millrace_event_loop_strained',
  shed: 'millrace_shed_total',
  holdsOpen: 'millrace_holds_open',
  holdsRecovered: 'millrace_holds_recovered_total',
  violations: 'millrace_ledger_violations',
  auditedAt: 'millrace_ledger_audited_timestamp_seconds',
  auditRows: 'millrace_audit_trail_rows',
  auditHead: 'millrace_audit_trail_head',
  batchOperations: 'millrace_ledger_batch_operations',
  commitSeconds: 'millrace_ledger_commit_seconds',
  turnSeconds: 'gen_ai_server_request_duration_seconds',
  firstByteSeconds: 'gen_ai_server_time_to_first_token_seconds',
} as const

const GEN_AI_MODEL = 'gen_ai_request_model'

/** The buckets of the conventions: 0.01 s, doubled up to 81.92 s. */
const GEN_AI_SECONDS = Array.from({ length: 14 }, (_, step) => 0.01 * 2 ** step)

/** How far an estimated charge was from the true one: -0.1 is a tenth too little. */
const ERROR_RATIOS = [-0.5, -0.3, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2]

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5]
const LOOP_DELAY_PRECISION_MS = 20

/** Events are counted when they happen; current values are read at each scrape. */
export type Metrics = ReturnType<typeof createMetrics>

/** Sets gauges before a scrape is rendered. */
type Reading = () => void | Promise<void>

/** A registry of its own: two servers in one test do not count into each other. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_DELAY_PRECISION_MS })
  const readings: Reading[] = []
  return {
    ...createTurnMetrics(registry),
    ...createServerMetrics(registry),
    ...createWatchedMetrics(registry, readings),
    async render() {
      await Promise.all(readings.map((read) => read()))
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}

/** `model` is an id of the catalogue: a label that clients could invent would grow without end. */
interface EndedTurn {
  readonly model: string | undefined
  readonly outcome: string
  readonly usage?: Usage | undefined
  readonly charge?: bigint | undefined
  readonly shortfall?: bigint | undefined
  readonly firstByteMs?: number | undefined
  /** Undefined for a turn that was refused before it began. */
  readonly totalMs: number | undefined
  /** Where the provider reported the usage: how far the estimate was off, in proportion. */
  readonly estimateError?: number | undefined
  /** Every attempt on a lane, in order. */
  readonly attempts?: readonly Pick<Attempt, 'lane' | 'outcome'>[] | undefined
}

/**
 * A counter whose series are counted in plain numbers until the metrics are read: each turn counts in about ten series. `labels` is
 * called once for each series.
 */
function createTally(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
  const series: { readonly labels: readonly string[]; count: number }[] = []
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      for (const each of series) {
        if (each.count > 0) this.labels(...each.labels).inc(each.count)
        each.count = 0
      }
    },
  })
  return {
    labels(...labels: string[]) {
      const each = {
        labels,
        count: 0,
        inc(by = 1): void {
          each.count += by
        },
      }
      series.push(each)
      return each
    },
  }
}

function createTurnMetrics(registry: Registry) {
  const registers = [registry]
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    createTally(registry, name, help, labelNames)
  const seconds = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: [GEN_AI_MODEL], buckets: GEN_AI_SECONDS, registers })
  const turns = counter(METRIC.turns, 'Turns by model and outcome.', ['model', 'outcome'])
  const tokens = counter(METRIC.tokens, 'Tokens by model, in classes that do not overlap.', ['model', 'class'])
  const laneAttempts = counter(METRIC.laneAttempts, 'Attempts by lane and outcome.', ['lane', 'outcome'])
  const failovers = counter(METRIC.failovers, 'Turns with a failover to another lane, by model.', ['model'])
  const charged = counter(METRIC.charged, 'Charged to accounts, in nano-dollars.', ['model'])
  const shortfall = counter(METRIC.shortfall, 'Cost above the hold, not charged, in nano-dollars.', ['model'])
  const estimateError = new Histogram({
    name: METRIC.estimateError,
    help: 'How far an estimated charge was from the true one, in proportion to it.',
    labelNames: ['model'],
    buckets: ERROR_RATIOS,
    registers,
  })
  const turnSeconds = seconds(METRIC.turnSeconds, 'Duration of a turn.')
  const firstByteSeconds = seconds(METRIC.firstByteSeconds, 'Time to the first content.')

  /** Labels are bound once for each model, so that a turn does not look them up by name. */
  const seriesOf = remember((model: string) => ({
    outcome: remember((outcome: string) => turns.labels(model, outcome)),
    tokens: remember((tokenClass: string) => tokens.labels(model, tokenClass)),
    failovers: failovers.labels(model),
    charged: charged.labels(model),
    shortfall: shortfall.labels(model),
    estimateError: estimateError.labels(model),
    turnSeconds: turnSeconds.labels(model),
    firstByteSeconds: firstByteSeconds.labels(model),
  }))
  const attemptsOf = remember((lane: string) => remember((outcome: string) => laneAttempts.labels(lane, outcome)))

  return {
    turnEnded(turn: EndedTurn): void {
      const { usage, charge, attempts = [] } = turn
      const series = seriesOf(turn.model ?? 'none')
      series.outcome(turn.outcome).inc()
      if (turn.totalMs !== undefined) series.turnSeconds.observe(turn.totalMs / 1000)
      if (turn.firstByteMs !== undefined) series.firstByteSeconds.observe(turn.firstByteMs / 1000)
      if (charge !== undefined && charge > 0n) series.charged.inc(Number(charge))
      if (turn.shortfall !== undefined && turn.shortfall > 0n) series.shortfall.inc(Number(turn.shortfall))
      if (turn.estimateError !== undefined) series.estimateError.observe(turn.estimateError)
      let isFailover = false
      for (const { lane, outcome } of attempts) {
        attemptsOf(lane)(outcome).inc()
        if (lane !== attempts[0]?.lane) isFailover = true
      }
      if (isFailover) series.failovers.inc()
      if (usage === undefined) return
      if (usage.uncachedInput > 0) series.tokens('uncached_input').inc(usage.uncachedInput)
      if (usage.cachedInput > 0) series.tokens('cached_input').inc(usage.cachedInput)
      if (usage.cacheWrite > 0) series.tokens('cache_write').inc(usage.cacheWrite)
      if (usage.output > 0) series.tokens('output').inc(usage.output)
    },
  }
}

/** What happens to requests and to the ledger. */
function createServerMetrics(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers })
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const requests = createTally(registry, METRIC.requests, 'Requests by endpoint and status.', ['endpoint', 'status'])
  const shed = counter(METRIC.shed, 'Turns and connections shed under overload, by reason.', ['reason'])
  const batchOperations = histogram(METRIC.batchOperations, 'Ledger operations in one commit.', BATCH_SIZES)
  const commitSeconds = histogram(METRIC.commitSeconds, 'Time until a ledger batch was durable.', COMMIT_SECONDS)
  const holdsRecovered = counter(METRIC.holdsRecovered, 'Holds that recovery or the sweeper resolved.', [])
  const violations = gauge(METRIC.violations, 'Violations that the last ledger audit found.')
  const auditedAt = gauge(METRIC.auditedAt, 'Time of the last ledger audit, in seconds since 1970.')
  const requestsOf = remember((endpoint: string) =>
    remember((status: number) => requests.labels(endpoint, String(status))),
  )
  return {
    /** `endpoint` is a route as the table of routes writes it, never a path that a client invented. */
    requestEnded(endpoint: string, status: number): void {
      requestsOf(endpoint)(status).inc()
    },
    /** A turn or a connection was shed, because this process cannot take on more. */
    shed(reason: string): void {
      shed.labels(reason).inc()
    },
    batchCommitted({ operations, seconds }: { readonly operations: number; readonly seconds: number }): void {
      batchOperations.observe(operations)
      commitSeconds.observe(seconds)
    },
    holdsRecovered(count: number): void {
      holdsRecovered.inc(count)
    },
    /** Violations other than zero need attention. */
    ledgerAudited(report: { readonly violations: number }): void {
      violations.set(report.violations)
      auditedAt.setToCurrentTime()
    },
  }
}

/** How much of what this process may take on is in use. */
interface CurrentLoad {
  readonly running: number
  readonly bytesTaken: number
  readonly bytesMax: number
  readonly waiting: number
  readonly isStrained: boolean
}

/** How long the audit log is, and the first 48 bits of the hash of its last row, which a number holds exactly. */
export interface AuditLogEnd {
  readonly rows: number
  readonly head: number
}

/** Current values. Each function that is passed in is called once at each scrape. */
function createWatchedMetrics(registry: Registry, readings: Reading[]) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  return {
    watchOpenHolds(read: () => number): void {
      const open = gauge(METRIC.holdsOpen, 'Open holds on wallets and windows.')
      readings.push(() => open.set(read()))
    },
    /** The lanes whose circuit is open. */
    watchOpenLanes(read: () => readonly { readonly lane: string; readonly reason: string }[]): void {
      const openLanes = new Gauge({
        name: METRIC.openLanes,
        help: 'Lanes whose circuit is open, and why.',
        labelNames: ['lane', 'reason'],
        registers: [registry],
      })
      readings.push(() => {
        openLanes.reset()
        for (const { lane, reason } of read()) openLanes.labels(lane, reason).set(1)
      })
    },
    /** Whether the last reload of the configuration was refused. */
    watchReload(isRefused: () => boolean): void {
      const refused = gauge(
        METRIC.reloadRefused,
        '1 while the configuration file on disk is refused and an earlier one is in force.',
      )
      readings.push(() => refused.set(isRefused() ? 1 : 0))
    },
    watchLoad(read: () => CurrentLoad): void {
      const running = gauge(METRIC.turnsRunning, 'Turns that have a slot, from their body to their end.')
      const used = gauge(METRIC.memoryUsed, 'The memory that these turns count for.')
      const max = gauge(METRIC.memoryMax, 'The memory that all turns may use together.')
      const queue = gauge(METRIC.queueLength, 'Turns that wait for a slot.')
      const strained = gauge(METRIC.strained, '1 while new turns are shed because the event loop is behind.')
      readings.push(() => {
        const load = read()
        running.set(load.running)
        used.set(load.bytesTaken)
        max.set(load.bytesMax)
        queue.set(load.waiting)
        strained.set(Number(load.isStrained))
      })
    },
    /** Undefined while there is no row, or none can be read. Then the gauges are not rendered: zero would be a claim. */
    watchAuditLog(read: () => Promise<AuditLogEnd | undefined>): void {
      const rows = gauge(METRIC.auditRows, 'Rows of the audit log. They never decrease.')
      const head = gauge(METRIC.auditHead, 'The first 48 bits of the hash of its last row, as a number.')
      readings.push(async () => {
        const end = await read()
        if (end === undefined) {
          rows.remove()
          head.remove()
          return
        }
        rows.set(end.rows)
        head.set(end.head)
      })
    },
  }
}
