import { Counter, Histogram, type Registry } from 'prom-client'
import { remember } from '../lib/remember.ts'
import type { Attempt } from '../model/ending.ts'
import type { Usage } from '../model/usage.ts'
import { ERROR_RATIOS, GEN_AI_MODEL, GEN_AI_SECONDS, METRIC } from './metric-names.ts'

/** What turns come to, by model. */
export interface TurnMetrics {
  turnEnded(turn: EndedTurn): void
}

/** `model` is an id of the catalogue: a label that clients could make up would grow without end. */
export interface EndedTurn {
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

export function createTurnMetrics(registry: Registry): TurnMetrics {
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
