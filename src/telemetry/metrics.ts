import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Usage } from '../model/usage.ts'
import { GEN_AI_MODEL, GEN_AI_SECONDS, METRIC } from './metric-names.ts'

export interface Metrics {
  /** `endpoint` is the route as it is written in the table of routes, never a path that a client made up. */
  requestEnded(request: { readonly endpoint: string; readonly status: number }): void
  turnEnded(turn: EndedTurn): void
  batchCommitted(batch: { readonly operations: number; readonly seconds: number }): void
  holdsRecovered(count: number): void
  /** What the last audit of the books found: zero, or somebody has to look. */
  booksAudited(report: { readonly violations: number }): void
  /** Asked at each scrape. */
  watchOpenHolds(read: () => number): void
  /** Asked at each scrape: the lanes that no request is sent to now. */
  watchLanesAside(read: () => readonly { readonly lane: string; readonly reason: string }[]): void
  watchLoad(read: () => LoadNow): void
  /** Asked at each scrape; undefined while there is no row, or none can be read. */
  watchAuditTrail(read: () => Promise<AuditTrailEnd | undefined>): void
  /** A request, or a connection, was sent away, because this process cannot take on more. */
  shed(reason: string): void
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}

/** How much of what this process may take on is in use. */
export interface LoadNow {
  readonly running: number
  readonly bytesTaken: number
  readonly bytesMax: number
  readonly waiting: number
  readonly isStrained: boolean
}

/** How long the audit trail is, and the first 48 bits of the hash of its last row: a number is exact up to there. */
export interface AuditTrailEnd {
  readonly rows: number
  readonly head: number
}

/** `model` is an id of the catalogue: a label that clients could make up would grow without end. */
export interface EndedTurn {
  readonly model: string | undefined
  readonly outcome: string
  readonly usage?: Usage | undefined
  readonly charge?: bigint | undefined
  readonly shortfall?: bigint | undefined
  readonly firstByteMs?: number | undefined
  readonly totalMs: number
}

const TOKEN_CLASSES = {
  uncached_input: (usage: Usage) => usage.uncachedInput,
  cached_input: (usage: Usage) => usage.cachedInput,
  cache_write: (usage: Usage) => usage.cacheWrite,
  output: (usage: Usage) => usage.output,
} as const
type TokenClass = keyof typeof TOKEN_CLASSES
const TOKEN_CLASS_NAMES = Object.keys(TOKEN_CLASSES) as TokenClass[]

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5]
const LOOP_DELAY_PRECISION_MS = 20

/** A registry of our own: two servers in one test do not count into each other. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_DELAY_PRECISION_MS })
  const series = createSeries(registry)
  const requests = remember((endpoint: string) =>
    remember((status: number) => series.requests.labels(endpoint, String(status))),
  )
  const models = remember((model: string) => bindModel(series, model))
  return {
    requestEnded: ({ endpoint, status }) => requests(endpoint)(status).inc(),
    turnEnded: (turn) => countTurn(models(turn.model ?? 'none'), turn),
    batchCommitted({ operations, seconds }) {
      series.batchOperations.observe(operations)
      series.commitSeconds.observe(seconds)
    },
    holdsRecovered: (count) => series.holdsRecovered.inc(count),
    booksAudited({ violations }) {
      series.violations.set(violations)
      series.auditedAt.setToCurrentTime()
    },
    watchOpenHolds: (read) => watch(registry, METRIC.holdsOpen, 'Holds that stand on wallets and windows now.', read),
    watchAuditTrail(read) {
      // Read once for both: an act in between would give a head that the row of that number does not have.
      let last: ReturnType<typeof read>
      const rows = () => {
        last = read()
        return last.then((trail) => trail?.rows)
      }
      watch(registry, METRIC.auditRows, 'Rows of the audit trail, which never are fewer.', rows)
      const help = 'The first 48 bits of the hash of the last of them, as a number.'
      watch(registry, METRIC.auditHead, help, () => last.then((trail) => trail?.head))
    },
    watchLoad(read) {
      for (const [name, help, of] of LOAD_SERIES) watch(registry, name, help, () => of(read()))
    },
    watchLanesAside(read) {
      new Gauge({
        name: METRIC.lanesAside,
        help: 'Lanes that no request is sent to now, and why.',
        labelNames: ['lane', 'reason'],
        registers: [registry],
        collect(this: Gauge) {
          this.reset()
          for (const { lane, reason } of read()) this.labels(lane, reason).set(1)
        },
      })
    },
    shed: (reason) => series.shed.labels(reason).inc(),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}

const LOAD_SERIES: readonly (readonly [name: string, help: string, of: (load: LoadNow) => number])[] = [
  [METRIC.turnsRunning, 'Turns that have a place, from their body to their end.', (load) => load.running],
  [METRIC.memoryUsed, 'What they count for in memory.', (load) => load.bytesTaken],
  [METRIC.memoryMax, 'The memory that turns may take together.', (load) => load.bytesMax],
  [METRIC.queueLength, 'Turns that wait for a place.', (load) => load.waiting],
  [
    METRIC.strained,
    'Whether new turns are sent away because the event loop is behind.',
    (load) => Number(load.isStrained),
  ],
]

type Reading = number | undefined

/** A gauge that asks at each scrape, and is not there where there is no answer. */
function watch(registry: Registry, name: string, help: string, read: () => Reading | Promise<Reading>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect(this: Gauge) {
      const value = await read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
}

type Series = ReturnType<typeof createSeries>

function createSeries(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[],
  ) => new Histogram({ name, help, buckets, labelNames, registers })
  return {
    requests: counter(METRIC.requests, 'Requests by endpoint and status.', ['endpoint', 'status']),
    turns: counter(METRIC.turns, 'Turns by model and how they ended.', ['model', 'outcome']),
    tokens: counter(METRIC.tokens, 'Tokens by model, in classes that do not overlap.', ['model', 'class']),
    charged: counter(METRIC.charged, 'Charged to accounts, in nano-dollars.', ['model']),
    shortfall: counter(METRIC.shortfall, 'Cost above the hold, which nobody was charged, in nano-dollars.', ['model']),
    shed: counter(METRIC.shed, 'Sent away because this process cannot take on more, by reason.', ['reason']),
    holdsRecovered: counter(METRIC.holdsRecovered, 'Holds that recovery or the sweeper had to end.', []),
    violations: new Gauge({
      name: METRIC.violations,
      help: 'What the last audit of the books found broken.',
      registers,
    }),
    auditedAt: new Gauge({
      name: METRIC.auditedAt,
      help: 'When the books were audited last, in seconds since 1970.',
      registers,
    }),
    batchOperations: histogram(METRIC.batchOperations, 'Ledger operations in one commit.', BATCH_SIZES, []),
    commitSeconds: histogram(METRIC.commitSeconds, 'Time until a ledger batch was durable.', COMMIT_SECONDS, []),
    turnSeconds: histogram(METRIC.turnSeconds, 'Time of a whole turn.', GEN_AI_SECONDS, [GEN_AI_MODEL]),
    firstByteSeconds: histogram(METRIC.firstByteSeconds, 'Time until the first content.', GEN_AI_SECONDS, [
      GEN_AI_MODEL,
    ]),
  }
}

type BoundModel = ReturnType<typeof bindModel>

/** Labels are bound once a model, so that a turn costs additions and no look-up by name. */
function bindModel(series: Series, model: string) {
  return {
    outcome: remember((outcome: string) => series.turns.labels(model, outcome)),
    token: remember((tokenClass: TokenClass) => series.tokens.labels(model, tokenClass)),
    charged: series.charged.labels(model),
    shortfall: series.shortfall.labels(model),
    turnSeconds: series.turnSeconds.labels(model),
    firstByteSeconds: series.firstByteSeconds.labels(model),
  }
}

function countTurn(bound: BoundModel, turn: EndedTurn): void {
  bound.outcome(turn.outcome).inc()
  bound.turnSeconds.observe(turn.totalMs / 1000)
  if (turn.firstByteMs !== undefined) bound.firstByteSeconds.observe(turn.firstByteMs / 1000)
  if (turn.charge !== undefined && turn.charge > 0n) bound.charged.inc(Number(turn.charge))
  if (turn.shortfall !== undefined && turn.shortfall > 0n) bound.shortfall.inc(Number(turn.shortfall))
  if (turn.usage === undefined) return
  for (const tokenClass of TOKEN_CLASS_NAMES) {
    const tokens = TOKEN_CLASSES[tokenClass](turn.usage)
    if (tokens > 0) bound.token(tokenClass).inc(tokens)
  }
}

/** What was made for a key is made once. The keys are few: routes, statuses, models of the catalogue, outcomes. */
function remember<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}
