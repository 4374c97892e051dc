import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { remember } from '../lib/collections.ts'
import type { Attempt } from '../model/ending.ts'
import type { Usage } from '../model/price.ts'
import { type CounterChild, createCounterFamily, createHistogramFamily } from './series.ts'

/**
 * Every metric. The four of the OpenTelemetry GenAI conventions keep those names in Prometheus spelling (underscores for dots, the
 * unit as a suffix), so that ready-made dashboards find them.
 */
export const METRIC = {
  build: 'millrace_build_info',
  requests: 'millrace_http_requests_total',
  turns: 'millrace_turns_total',
  tokens: 'millrace_tokens_total',
  charged: 'millrace_charged_nano_usd_total',
  shortfall: 'millrace_shortfall_nano_usd_total',
  estimateError: 'millrace_estimate_error_ratio',
  inputEstimateError: 'millrace_input_estimate_error_ratio',
  failovers: 'millrace_failovers_total',
  laneAttempts: 'millrace_lane_attempts_total',
  laneFailovers: 'millrace_lane_failovers_total',
  laneCooldowns: 'millrace_lane_cooldowns_total',
  laneTokens: 'millrace_lane_tokens_total',
  laneCost: 'millrace_lane_cost_nano_usd_total',
  laneCharged: 'millrace_lane_charged_nano_usd_total',
  openLanes: 'millrace_lanes_aside',
  reloadRefused: 'millrace_config_reload_refused',
  configLoadedAt: 'millrace_config_loaded_timestamp_seconds',
  turnsRunning: 'millrace_turns_running',
  memoryUsed: 'millrace_memory_budget_used_bytes',
  memoryMax: 'millrace_memory_budget_bytes',
  queueLength: 'millrace_queue_length',
  strained: 'millrace_event_loop_strained',
  shed: 'millrace_shed_total',
  ledgerAvailable: 'millrace_ledger_available',
  holdsOpen: 'millrace_holds_open',
  holdsRecovered: 'millrace_holds_recovered_total',
  violations: 'millrace_ledger_violations',
  auditedAt: 'millrace_ledger_audited_timestamp_seconds',
  auditRows: 'millrace_audit_trail_rows',
  auditHead: 'millrace_audit_trail_head',
  batchOperations: 'millrace_ledger_batch_operations',
  commitSeconds: 'millrace_ledger_commit_seconds',
  diskFree: 'millrace_data_disk_available_bytes',
  diskSize: 'millrace_data_disk_bytes',
  databaseBytes: 'millrace_database_file_bytes',
  turnSeconds: 'gen_ai_server_request_duration_seconds',
  firstByteSeconds: 'gen_ai_server_time_to_first_token_seconds',
  laneSeconds: 'gen_ai_client_operation_duration_seconds',
  laneFirstByteSeconds: 'gen_ai_client_operation_time_to_first_chunk_seconds',
} as const

const GEN_AI_MODEL = 'gen_ai_request_model'
/** Turns that were refused before their model was known. */
const NO_MODEL = 'none'

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

/** `model` and `lane` are ids of the configuration: a label that clients could invent would grow without end. */
interface EndedTurn {
  readonly model: string | undefined
  readonly outcome: string
  readonly usage?: Usage | undefined
  readonly charge?: bigint | undefined
  readonly shortfall?: bigint | undefined
  readonly firstByteMs?: number | undefined
  /** Undefined for a turn that was refused before it began. */
  readonly totalMs: number | undefined
  /** Where the provider reported the usage: how far the estimates were off, in proportion. */
  readonly estimateError?: number | undefined
  readonly inputEstimateError?: number | undefined
  /** Every attempt on a lane, in order. */
  readonly attempts?: readonly Pick<Attempt, 'lane' | 'outcome' | 'ms'>[] | undefined
  /** What the last lane did, also for answers that cost the client nothing. */
  readonly laneWork?: LaneWork | undefined
}

export interface LaneWork {
  readonly usage: Usage | undefined
  /** What the provider charges the operator, by the lane's `cost`; undefined without one. */
  readonly cost: bigint | undefined
  /** From the call of the lane to its first content. */
  readonly firstByteMs: number | undefined
}

/** Ids of the configuration in force. */
interface Configured {
  readonly models: readonly { readonly id: string; readonly lanes: readonly { readonly id: string }[] }[]
}

function createTurnMetrics(registry: Registry) {
  const models = createModelSeries(registry)
  const lanes = createLaneSeries(registry)
  const loadedAt = new Gauge({
    name: METRIC.configLoadedAt,
    help: 'When the configuration in force was loaded, in seconds since 1970.',
    registers: [registry],
  })
  return {
    turnEnded(turn: EndedTurn): void {
      const { usage, charge, attempts = NO_ATTEMPTS } = turn
      const series = models.of(turn.model ?? NO_MODEL)
      series.outcome(turn.outcome).inc()
      if (turn.totalMs !== undefined) series.seconds.observe(turn.totalMs / 1000)
      if (turn.firstByteMs !== undefined) series.firstByteSeconds.observe(turn.firstByteMs / 1000)
      if (charge !== undefined && charge > 0n) series.charged.inc(Number(charge))
      if (turn.shortfall !== undefined && turn.shortfall > 0n) series.shortfall.inc(Number(turn.shortfall))
      if (turn.estimateError !== undefined) series.estimateError.observe(turn.estimateError)
      if (turn.inputEstimateError !== undefined) series.inputEstimateError.observe(turn.inputEstimateError)
      if (usage !== undefined) countTokens(series.tokens, usage)
      let isFailover = false
      for (let index = 0; index < attempts.length; index++) {
        const { lane, outcome, ms } = attempts[index]!
        const laneSeries = lanes.of(lane)
        laneSeries.outcome(outcome).inc()
        laneSeries.seconds.observe(ms / 1000)
        const next = attempts[index + 1]
        if (next === undefined) countWork(laneSeries, turn)
        else if (next.lane !== lane) {
          laneSeries.failovers.inc()
          isFailover = true
        }
      }
      if (isFailover) series.failovers.inc()
    },
    /** The circuit of a lane has opened. */
    laneCooledDown(lane: string, reason: string): void {
      lanes.of(lane).cooldown(reason).inc()
    },
    /** Drops the series of models and lanes that are gone, and begins those that alerts wait for at zero. */
    configLoaded({ models: configured }: Configured): void {
      models.keepOnly(new Set([NO_MODEL, ...configured.map(({ id }) => id)]))
      lanes.keepOnly(new Set(configured.flatMap((model) => model.lanes.map(({ id }) => id))))
      loadedAt.setToCurrentTime()
    },
  }
}

const NO_ATTEMPTS: NonNullable<EndedTurn['attempts']> = []

type LaneSeries = ReturnType<ReturnType<typeof createLaneSeries>['of']>

function countWork(series: LaneSeries, { laneWork, charge }: EndedTurn): void {
  if (charge !== undefined && charge > 0n) series.charged.inc(Number(charge))
  if (laneWork === undefined) return
  const { usage, cost, firstByteMs } = laneWork
  if (firstByteMs !== undefined) series.firstByteSeconds.observe(firstByteMs / 1000)
  if (cost !== undefined && cost > 0n) series.cost.inc(Number(cost))
  if (usage !== undefined) countTokens(series.tokens, usage)
}

/** Children are resolved once, and forgotten with the model or the lane. */
function createSeries<Of>(make: (id: string) => Of, families: readonly { keepOnly(ids: ReadonlySet<string>): void }[]) {
  const known = new Map<string, Of>()
  const of = (id: string): Of => {
    const found = known.get(id)
    if (found !== undefined) return found
    const made = make(id)
    known.set(id, made)
    return made
  }
  return {
    of,
    keepOnly(ids: ReadonlySet<string>): void {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
      for (const family of families) family.keepOnly(ids)
      for (const id of ids) of(id)
    },
  }
}

const TOKEN_CLASSES = {
  uncachedInput: 'uncached_input',
  cachedInput: 'cached_input',
  cacheWrite: 'cache_write',
  output: 'output',
} as const

type TokenSeries = (tokenClass: string) => CounterChild

function countTokens(tokens: TokenSeries, usage: Usage): void {
  if (usage.uncachedInput > 0) tokens(TOKEN_CLASSES.uncachedInput).inc(usage.uncachedInput)
  if (usage.cachedInput > 0) tokens(TOKEN_CLASSES.cachedInput).inc(usage.cachedInput)
  if (usage.cacheWrite > 0) tokens(TOKEN_CLASSES.cacheWrite).inc(usage.cacheWrite)
  if (usage.output > 0) tokens(TOKEN_CLASSES.output).inc(usage.output)
}

function createModelSeries(registry: Registry) {
  const counter = (name: string, help: string, labelNames: readonly string[] = ['model']) =>
    createCounterFamily(registry, { name, help, labelNames })
  const seconds = (name: string, help: string) =>
    createHistogramFamily(registry, { name, help, labelNames: [GEN_AI_MODEL], buckets: GEN_AI_SECONDS })
  const errors = (name: string, help: string) =>
    createHistogramFamily(registry, { name, help, labelNames: ['model'], buckets: ERROR_RATIOS })
  const families = {
    turns: counter(METRIC.turns, 'Turns by model and outcome.', ['model', 'outcome']),
    tokens: counter(METRIC.tokens, 'Tokens by model, in classes that do not overlap.', ['model', 'class']),
    failovers: counter(METRIC.failovers, 'Turns with a failover to another lane, by model.'),
    charged: counter(METRIC.charged, 'Charged to accounts, in nano-dollars.'),
    shortfall: counter(METRIC.shortfall, 'Cost above the hold, not charged, in nano-dollars.'),
    estimateError: errors(
      METRIC.estimateError,
      'How far an estimated charge was from the true one, in proportion to it.',
    ),
    inputEstimateError: errors(
      METRIC.inputEstimateError,
      'How far the estimated input tokens were from the counted ones, in proportion to these.',
    ),
    seconds: seconds(METRIC.turnSeconds, 'Duration of a turn.'),
    firstByteSeconds: seconds(METRIC.firstByteSeconds, 'Time to the first content.'),
  }
  const make = (model: string) => ({
    outcome: remember((outcome: string) => families.turns.labels(model, outcome)),
    tokens: remember((tokenClass: string) => families.tokens.labels(model, tokenClass)),
    failovers: families.failovers.labels(model),
    charged: families.charged.labels(model),
    shortfall: families.shortfall.labels(model),
    estimateError: families.estimateError.labels(model),
    inputEstimateError: families.inputEstimateError.labels(model),
    seconds: families.seconds.labels(model),
    firstByteSeconds: families.firstByteSeconds.labels(model),
  })
  return createSeries(make, Object.values(families))
}

/** They begin at zero: the first one is an alert. */
const ALERTED_OUTCOMES = ['finished', 'credential', 'not-found']

function createLaneSeries(registry: Registry) {
  const counter = (name: string, help: string, more: readonly string[] = []) =>
    createCounterFamily(registry, { name, help, labelNames: ['lane', ...more] })
  const seconds = (name: string, help: string) =>
    createHistogramFamily(registry, { name, help, labelNames: ['lane'], buckets: GEN_AI_SECONDS })
  const families = {
    attempts: counter(METRIC.laneAttempts, 'Attempts by lane and outcome.', ['outcome']),
    failovers: counter(METRIC.laneFailovers, 'Turns that left the lane for another one.'),
    cooldowns: counter(METRIC.laneCooldowns, 'How often the circuit of the lane has opened, and why.', ['reason']),
    tokens: counter(METRIC.laneTokens, 'Tokens that the lane read and wrote, charged or not.', ['class']),
    cost: counter(METRIC.laneCost, 'Cost to the operator by the cost of the lane, in nano-dollars.'),
    charged: counter(METRIC.laneCharged, 'Charged to accounts for answers of the lane, in nano-dollars.'),
    seconds: seconds(METRIC.laneSeconds, 'Duration of a call of the lane.'),
    firstByteSeconds: seconds(METRIC.laneFirstByteSeconds, 'From the call of the lane to its first content.'),
  }
  const make = (lane: string) => {
    const outcome = remember((name: string) => families.attempts.labels(lane, name))
    for (const name of ALERTED_OUTCOMES) outcome(name)
    return {
      outcome,
      cooldown: remember((reason: string) => families.cooldowns.labels(lane, reason)),
      tokens: remember((tokenClass: string) => families.tokens.labels(lane, tokenClass)),
      failovers: families.failovers.labels(lane),
      cost: families.cost.labels(lane),
      charged: families.charged.labels(lane),
      seconds: families.seconds.labels(lane),
      firstByteSeconds: families.firstByteSeconds.labels(lane),
    }
  }
  return createSeries(make, Object.values(families))
}

/** What happens to requests and to the ledger. */
function createServerMetrics(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers })
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const requests = createCounterFamily(registry, {
    name: METRIC.requests,
    help: 'Requests by endpoint and status.',
    labelNames: ['endpoint', 'status'],
  })
  const build = new Gauge({ name: METRIC.build, help: 'Always 1.', labelNames: ['version', 'node'], registers })
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
    started(version: string): void {
      build.labels(version, process.version).set(1)
    },
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

/** Undefined or left out: it could not be read. */
export interface StorageUse {
  readonly disk: { readonly bytes: number; readonly freeBytes: number } | undefined
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
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
    watchLedger(ledger: { readonly openHolds: number; readonly gate: { readonly open: boolean } }): void {
      const open = gauge(METRIC.holdsOpen, 'Open holds on wallets and windows.')
      const available = gauge(METRIC.ledgerAvailable, '1 while the ledger can be written and turns are admitted.')
      readings.push(() => {
        open.set(ledger.openHolds)
        available.set(Number(ledger.gate.open))
      })
    },
    /** The disk of the data folder and the files of the databases. What cannot be read is not rendered. */
    watchStorage(read: () => Promise<StorageUse>): void {
      const free = gauge(METRIC.diskFree, 'What is free on the disk of the data folder.')
      const size = gauge(METRIC.diskSize, 'The size of the disk of the data folder.')
      const bytes = new Gauge({
        name: METRIC.databaseBytes,
        help: 'The size of a database file, with its log of changes.',
        labelNames: ['file'],
        registers: [registry],
      })
      readings.push(async () => {
        const { disk, files } = await read()
        if (disk === undefined) {
          free.remove()
          size.remove()
        } else {
          free.set(disk.freeBytes)
          size.set(disk.bytes)
        }
        bytes.reset()
        for (const file of files) bytes.labels(file.name).set(file.bytes)
      })
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
