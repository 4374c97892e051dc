import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { remember } from '../lib/lru-map.ts'
import type { Attempt } from '../model/ending.ts'
import type { Usage } from '../model/price.ts'

/** What has happened is counted when it happens; how things stand is asked at each scrape. */
export interface Metrics extends CountedMetrics, TurnMetrics, WatchedMetrics {
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}

const LOOP_DELAY_PRECISION_MS = 20

/** A registry of our own: two servers in one test do not count into each other. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_DELAY_PRECISION_MS })
  const readings: GaugeReading[] = []
  return {
    ...createCountedMetrics(registry),
    ...createTurnMetrics(registry),
    ...createWatchedMetrics(registry, (reading) => readings.push(reading)),
    async render() {
      await Promise.all(readings.map((read) => read()))
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}

/**
 * Every series we publish. The two of the OpenTelemetry GenAI conventions keep those names in Prometheus spelling (dots
 * become underscores, the unit is a suffix), so that ready-made dashboards find them; what has no such name is ours.
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
  lanesAside: 'millrace_lanes_aside',
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

/** The buckets that the conventions ask for: 0.01 s, doubled up to 81.92 s. */
const GEN_AI_SECONDS = Array.from({ length: 14 }, (_, step) => 0.01 * 2 ** step)

/** How far an estimated charge would have been from the true one: -0.1 is a tenth too little. */
const ERROR_RATIOS = [-0.5, -0.3, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2]

/** What turns come to, by model. */
interface TurnMetrics {
  turnEnded(turn: EndedTurn): void
}

/** `model` is an id of the catalogue: a label that clients could make up would grow without end. */
interface EndedTurn {
  readonly model: string | undefined
  readonly outcome: string
  readonly usage?: Usage | undefined
  readonly charge?: bigint | undefined
  readonly shortfall?: bigint | undefined
  readonly firstByteMs?: number | undefined
  /** Undefined of one that was refused before it began. */
  readonly totalMs: number | undefined
  /** Where the true usage was told: how far the estimate would have been from it, in proportion. */
  readonly estimateError?: number | undefined
  /** Every attempt on a lane, in order. */
  readonly attempts?: readonly Pick<Attempt, 'lane' | 'outcome'>[] | undefined
}

const TOKEN_CLASSES = {
  uncached_input: (usage: Usage) => usage.uncachedInput,
  cached_input: (usage: Usage) => usage.cachedInput,
  cache_write: (usage: Usage) => usage.cacheWrite,
  output: (usage: Usage) => usage.output,
} as const
type TokenClass = keyof typeof TOKEN_CLASSES
const TOKEN_CLASS_NAMES = Object.keys(TOKEN_CLASSES) as TokenClass[]

function createTurnMetrics(registry: Registry): TurnMetrics {
  const series = createSeries(registry)
  const models = remember((model: string) => bindModel(series, model))
  const lanes = remember((lane: string) => remember((outcome: string) => series.laneAttempts.labels(lane, outcome)))
  return {
    turnEnded(turn) {
      countTurn(models(turn.model ?? 'none'), turn)
      for (const { lane, outcome } of turn.attempts ?? []) lanes(lane)(outcome).inc()
    },
  }
}

type Series = ReturnType<typeof createSeries>

function createSeries(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const seconds = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: [GEN_AI_MODEL], buckets: GEN_AI_SECONDS, registers: [registry] })
  return {
    turns: counter(METRIC.turns, 'Turns by model and how they ended.', ['model', 'outcome']),
    tokens: counter(METRIC.tokens, 'Tokens by model, in classes that do not overlap.', ['model', 'class']),
    laneAttempts: counter(METRIC.laneAttempts, 'Attempts by lane and outcome.', ['lane', 'outcome']),
    failovers: counter(METRIC.failovers, 'Turns that moved on to another lane, by model.', ['model']),
    charged: counter(METRIC.charged, 'Charged to accounts, in nano-dollars.', ['model']),
    shortfall: counter(METRIC.shortfall, 'Cost above the hold, which nobody was charged, in nano-dollars.', ['model']),
    estimateError: new Histogram({
      name: METRIC.estimateError,
      help: 'How far an estimated charge would have been from the true one, in proportion to it.',
      labelNames: ['model'],
      buckets: ERROR_RATIOS,
      registers: [registry],
    }),
    turnSeconds: seconds(METRIC.turnSeconds, 'Time of a whole turn.'),
    firstByteSeconds: seconds(METRIC.firstByteSeconds, 'Time until the first content.'),
  }
}

type BoundModel = ReturnType<typeof bindModel>

/** Labels are bound once a model, so that a turn costs additions and no look-up by name. */
function bindModel(series: Series, model: string) {
  return {
    outcome: remember((outcome: string) => series.turns.labels(model, outcome)),
    token: remember((tokenClass: TokenClass) => series.tokens.labels(model, tokenClass)),
    failovers: series.failovers.labels(model),
    charged: series.charged.labels(model),
    shortfall: series.shortfall.labels(model),
    estimateError: series.estimateError.labels(model),
    turnSeconds: series.turnSeconds.labels(model),
    firstByteSeconds: series.firstByteSeconds.labels(model),
  }
}

const isFailover = ({ attempts = [] }: EndedTurn): boolean => attempts.some(({ lane }) => lane !== attempts[0]?.lane)

function countTurn(bound: BoundModel, turn: EndedTurn): void {
  bound.outcome(turn.outcome).inc()
  if (turn.totalMs !== undefined) bound.turnSeconds.observe(turn.totalMs / 1000)
  if (turn.firstByteMs !== undefined) bound.firstByteSeconds.observe(turn.firstByteMs / 1000)
  if (turn.charge !== undefined && turn.charge > 0n) bound.charged.inc(Number(turn.charge))
  if (turn.shortfall !== undefined && turn.shortfall > 0n) bound.shortfall.inc(Number(turn.shortfall))
  if (isFailover(turn)) bound.failovers.inc()
  if (turn.estimateError !== undefined) bound.estimateError.observe(turn.estimateError)
  if (turn.usage === undefined) return
  for (const tokenClass of TOKEN_CLASS_NAMES) {
    const tokens = TOKEN_CLASSES[tokenClass](turn.usage)
    if (tokens > 0) bound.token(tokenClass).inc(tokens)
  }
}

/** What happens to requests and to the books. */
interface CountedMetrics {
  /** `endpoint` is the route as it is written in the table of routes, never a path that a client made up. */
  requestEnded(endpoint: string, status: number): void
  /** A request, or a connection, was sent away, because this process cannot take on more. */
  shed(reason: string): void
  batchCommitted(batch: { readonly operations: number; readonly seconds: number }): void
  holdsRecovered(count: number): void
  /** What the last audit of the books found: zero, or somebody has to look. */
  ledgerAudited(report: { readonly violations: number }): void
}

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5]

function createCountedMetrics(registry: Registry): CountedMetrics {
  const { requests, shed, ...books } = createCountedSeries(registry)
  const endpoints = remember((endpoint: string) =>
    remember((status: number) => requests.labels(endpoint, String(status))),
  )
  return {
    requestEnded: (endpoint, status) => endpoints(endpoint)(status).inc(),
    shed: (reason) => shed.labels(reason).inc(),
    batchCommitted({ operations, seconds }) {
      books.batchOperations.observe(operations)
      books.commitSeconds.observe(seconds)
    },
    holdsRecovered: (count) => books.holdsRecovered.inc(count),
    ledgerAudited({ violations }) {
      books.violations.set(violations)
      books.auditedAt.setToCurrentTime()
    },
  }
}

function createCountedSeries(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers })
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  return {
    requests: counter(METRIC.requests, 'Requests by endpoint and status.', ['endpoint', 'status']),
    shed: counter(METRIC.shed, 'Sent away because this process cannot take on more, by reason.', ['reason']),
    batchOperations: histogram(METRIC.batchOperations, 'Ledger operations in one commit.', BATCH_SIZES),
    commitSeconds: histogram(METRIC.commitSeconds, 'Time until a ledger batch was durable.', COMMIT_SECONDS),
    holdsRecovered: counter(METRIC.holdsRecovered, 'Holds that recovery or the sweeper had to end.', []),
    violations: gauge(METRIC.violations, 'What the last audit of the books found broken.'),
    auditedAt: gauge(METRIC.auditedAt, 'When the books were audited last, in seconds since 1970.'),
  }
}

/** How things stand. What is handed in is asked at each scrape, once, however many gauges it is about. */
interface WatchedMetrics {
  watchOpenHolds(read: () => number): void
  /** The lanes that no request is sent to now. */
  watchOpenLanes(read: () => readonly { readonly lane: string; readonly reason: string }[]): void
  watchLoad(read: () => LoadNow): void
  /** Whether the last reload of the configuration was refused. */
  watchReload(isRefused: () => boolean): void
  /** Undefined while there is no row, or none can be read. */
  watchAuditLog(read: () => Promise<AuditLogEnd | undefined>): void
}

/** How much of what this process may take on is in use. */
interface LoadNow {
  readonly running: number
  readonly bytesTaken: number
  readonly bytesMax: number
  readonly waiting: number
  readonly isStrained: boolean
}

/** How long the audit trail is, and the first 48 bits of the hash of its last row: a number is exact up to there. */
export interface AuditLogEnd {
  readonly rows: number
  readonly head: number
}

/** Sets the gauges that it is about. */
type GaugeReading = () => void | Promise<void>

/** `atEachScrape`: before anything of it is rendered. */
function createWatchedMetrics(registry: Registry, atEachScrape: (read: GaugeReading) => void): WatchedMetrics {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  return {
    watchOpenHolds(read) {
      const open = gauge(METRIC.holdsOpen, 'Holds that stand on wallets and windows now.')
      atEachScrape(() => open.set(read()))
    },
    watchOpenLanes(read) {
      const aside = new Gauge({
        name: METRIC.lanesAside,
        help: 'Lanes that no request is sent to now, and why.',
        labelNames: ['lane', 'reason'],
        registers: [registry],
      })
      atEachScrape(() => {
        aside.reset()
        for (const { lane, reason } of read()) aside.labels(lane, reason).set(1)
      })
    },
    watchReload(isRefused) {
      const refused = gauge(
        METRIC.reloadRefused,
        '1 while the configuration file on disk is refused and an earlier one is in force.',
      )
      atEachScrape(() => refused.set(isRefused() ? 1 : 0))
    },
    watchLoad(read) {
      const running = gauge(METRIC.turnsRunning, 'Turns that have a place, from their body to their end.')
      const used = gauge(METRIC.memoryUsed, 'What they count for in memory.')
      const max = gauge(METRIC.memoryMax, 'The memory that turns may take together.')
      const queue = gauge(METRIC.queueLength, 'Turns that wait for a place.')
      const strained = gauge(METRIC.strained, 'Whether new turns are sent away because the event loop is behind.')
      atEachScrape(() => {
        const load = read()
        running.set(load.running)
        used.set(load.bytesTaken)
        max.set(load.bytesMax)
        queue.set(load.waiting)
        strained.set(Number(load.isStrained))
      })
    },
    watchAuditLog(read) {
      const rows = gauge(METRIC.auditRows, 'Rows of the audit trail, which never are fewer.')
      const head = gauge(METRIC.auditHead, 'The first 48 bits of the hash of the last of them, as a number.')
      atEachScrape(async () => {
        const auditLog = await read()
        setOrHide(rows, auditLog?.rows)
        setOrHide(head, auditLog?.head)
      })
    },
  }
}

/** What is not known is not there: zero would be a claim. */
function setOrHide(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove()
  else gauge.set(value)
}
