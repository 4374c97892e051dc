import type { Model } from '../catalog/catalog.ts'
import { msBetween } from '../lib/clock.ts'
import { assertNever } from '../lib/types.ts'
import type { Attempt, Ending, Owed, TurnOutcome } from '../model/ending.ts'
import type { PrefixBreak } from '../model/prefix-break.ts'
import {
  chargedValues,
  type InputUsage,
  inputTokensOf,
  type MeteredUsage,
  PRICED_FIELDS,
  type Price,
  type PricedValues,
  type Usage,
} from '../model/price.ts'
import type { TurnRequest } from '../model/turn.ts'
import { estimateInput } from '../pricing/estimate.ts'
import type { LaneEstimator } from '../pricing/lane-estimators.ts'
import { clampUsage, priceUsage } from '../pricing/price.ts'
import type { GuardedTurn } from '../routing/prefix-guard.ts'
import type { LaneWork } from '../telemetry/metrics.ts'
import type { AttemptResult, Produced, ProviderRun } from './attempt.ts'
import { laneCap } from './attempt-lanes.ts'
import type { AbortReason } from './cancellation.ts'
import type { Turn } from './turn.ts'

type EndingCharge = Pick<Ending, 'outcome' | 'owed'>

/** What usage and estimates of one turn rest on and cannot exceed. */
export interface EndingBounds {
  readonly model: Model
  readonly price: Price
  /** What the client asked for that changes the price. */
  readonly priced?: PricedValues | undefined
  /** The head has gone out with 200; before it the client gets an error status, which must not cost anything. */
  readonly headSent: boolean
  readonly bytesPerToken: number
  readonly inputBound: number
  /** The input by the catalogue's ratio. */
  readonly inputEstimate: number
  /** The part of it that the provider saw shortly before. */
  readonly cachedEstimate: number
  readonly outputBound: number
  /** What was learned about the lane. */
  readonly estimator: LaneEstimator
}

/**
 * What is owed for an ending: `priceUsage` (`pricing/price.ts`) prices it, and `chargeWithin` (`ledger/state/turns.ts`) caps the
 * charge at the hold. `docs/operate/charges.md` is the published table; recovery has rules of its own.
 */
export function decideOwed(run: ProviderRun, bounds: EndingBounds): EndingCharge {
  const { result } = run
  switch (result.kind) {
    case 'finished':
      return result.disconnectedEarly
        ? disconnected(run, result.used, bounds)
        : charge('completed', result.used, bounds)
    case 'broken-off':
      return charge('upstream_failed', result.used, bounds)
    case 'stopped': {
      const outcome = STOPPED_OUTCOMES[result.reason]
      // Before the provider's 2xx head it has not accepted the request: a cancel costs nothing.
      if (!result.accepted && !providerHadStarted(result, bounds)) return free(outcome)
      if (result.reason === 'client-gone') return disconnected(run, result.used, bounds)
      // A response with status 503 is free, even if the provider has begun to work.
      return bounds.headSent ? charge(outcome, result.used, bounds) : free(outcome)
    }
    case 'failed':
      return free('upstream_failed')
    case 'withheld':
      // Either the hold is not durable, or a stored response has no row.
      return free(result.problem.code === 'ledger_unavailable' ? 'ledger_unavailable' : 'internal_error')
    default:
      return assertNever(result)
  }
}

/** The client disconnected so late that, by the usual times of the lane, the provider was already making its JSON answer. */
const providerHadStarted = (
  { reason, used }: Extract<AttemptResult, { kind: 'stopped' }>,
  { estimator, bytesPerToken }: EndingBounds,
) => reason === 'client-gone' && estimator.outputOf(used, bytesPerToken).output > 0

/** After a disconnect the client pays for what was produced, unless the operator has chosen to pay. */
function disconnected({ lane }: ProviderRun, used: Produced, bounds: EndingBounds): EndingCharge {
  if (lane?.upstream.disconnectPolicy === 'cancel_free') return free('client_gone')
  return charge('client_gone', used, bounds)
}

const STOPPED_OUTCOMES = {
  'client-gone': 'client_gone',
  draining: 'drained',
  'ledger-gone': 'ledger_unavailable',
} as const satisfies Record<AbortReason, TurnOutcome>

/**
 * The provider's own count, or else an estimate. A count of input beyond the bound is believed, because a provider may put
 * instructions of its own before the model: it is charged as far as the hold goes, and the rest is shortfall. A count that no
 * model can have read, or output past the cap, is a fault of the provider: it is lowered to the bound and flagged.
 */
function charge(outcome: TurnOutcome, produced: Produced, bounds: EndingBounds): EndingCharge {
  const usage = usageOf(produced, bounds)
  const { price, priced } = bounds
  const values = price.multipliers && chargedValues(price, priced, produced.served)
  const { tier, cost } = priceUsage(price, usage, values)
  return { outcome, owed: values === undefined ? { usage, tier, cost } : { usage, tier, cost, values } }
}

const usageOf = (produced: Produced, bounds: EndingBounds): MeteredUsage =>
  produced.usage ? clampUsage(produced.usage, bounds, bounds.model.contextTokens) : estimateUsage(produced, bounds)

const free = (outcome: TurnOutcome): EndingCharge => ({ outcome, owed: undefined })

/** By how much estimates would have missed the true charge and the counted input, in proportion, where both are known. */
export interface EstimateMisses {
  readonly estimateError: number | undefined
  readonly inputEstimateError: number | undefined
}

interface DecidedEnding {
  readonly ending: Ending
  readonly misses: EstimateMisses | undefined
  readonly laneWork: LaneWork | undefined
}

/** Decides how a turn ends and what is owed for it, and learns from it about its lane. `kept` is set later. */
export function decideEnding(turn: Turn, run: ProviderRun, estimator: LaneEstimator, nowMicros: number): DecidedEnding {
  const { startedAt, previousOrigin, admitRequest, entry, price, inputBound, hold, request, sink, guarded } = turn
  const { result, lane, firstContentAt } = run
  const { inputEstimate, cachedEstimate } = admitRequest
  const { model } = entry
  const bounds: EndingBounds = {
    estimator,
    bytesPerToken: model.bytesPerToken,
    model,
    price,
    priced: request.priced,
    inputBound,
    inputEstimate,
    cachedEstimate,
    outputBound: (lane ? laneCap(turn, lane) : hold.cap) * request.choices,
    // Of a JSON answer in the background, and of a call that is held back, the client has seen nothing.
    headSent:
      sink.phase !== 'quiet' &&
      request.delivery === 'stream' &&
      !(model.retriesBrokenArguments && firstContentAt === undefined),
  }
  const { outcome, owed } = decideOwed(run, bounds)
  const leftItsLane = owed !== undefined && previousOrigin !== undefined && lane?.origin !== previousOrigin
  const laneWork = laneWorkOf(run, owed, bounds)
  const ending: Ending = {
    outcome,
    owed,
    lane: lane?.id,
    attempts: attemptsOf(run.attempts, {
      cacheLost: leftItsLane ? cachedEstimate - owed.usage.cachedInput : 0,
      cost: laneWork?.cost,
      charged: price.multipliers && owed && chargedOtherwise(request.priced, owed.values),
      prefix: guarded?.broken && prefixOf(guarded.broken, guarded.continued, owed),
    }),
    firstByteMs: firstContentAt === undefined ? undefined : msBetween(startedAt, firstContentAt),
    totalMs: msBetween(startedAt, nowMicros),
    compaction:
      result.kind === 'finished' && result.answer.compacted && owed
        ? compactionOf(turn, result.answer.compacted, owed)
        : undefined,
    kept: false,
  }
  const counted = result.kind === 'finished' && owed !== undefined && !owed.usage.estimated
  const misses = counted ? learnFromAnswer(request, result.used, owed, bounds) : undefined
  return { ending, misses, laneWork }
}

/** For the receipt and the metrics of the lane: its provider bills the operator for an answer that costs the client nothing too. */
function laneWorkOf({ result, lane, laneFirstByteMs }: ProviderRun, owed: Owed | undefined, bounds: EndingBounds) {
  const isAnswer = result.kind === 'finished' || result.kind === 'broken-off'
  if (lane === undefined || !(isAnswer || (result.kind === 'stopped' && (result.accepted || owed)))) return undefined
  const usage = owed?.usage ?? usageOf(result.used, bounds)
  // The provider bills what it has served, not what the client asked for.
  const values = lane.cost?.multipliers && { ...bounds.priced, ...result.used.served }
  const cost = lane.cost && priceUsage(lane.cost, usage, values).cost
  return { usage, cost, firstByteMs: laneFirstByteMs }
}

/**
 * The last attempt did the work. `cacheLost`: tokens that are charged as new because the conversation moved to a lane that
 * does not have them in its cache.
 */
function attemptsOf(attempts: readonly Attempt[], work: AttemptWork): readonly Attempt[] {
  const { cacheLost, cost, charged, prefix } = work
  const last = attempts.at(-1)
  if (last === undefined) return attempts
  if (cacheLost <= 0 && cost === undefined && charged === undefined && prefix === undefined) return attempts
  const more = { ...(cacheLost > 0 && { cacheLost }), ...(cost !== undefined && { cost: String(cost) }) }
  return [...attempts.slice(0, -1), { ...last, ...more, ...(charged && { charged }), ...(prefix && { prefix }) }]
}

/** With what the break has cost, where the provider has counted it. */
function prefixOf(broken: PrefixBreak, continued: GuardedTurn['continued'], owed: Owed | undefined): PrefixBreak {
  if (continued === undefined || owed === undefined || owed.usage.estimated) return broken
  const cached = continued.cachedTokens - owed.usage.cachedInput
  return cached > 0 ? { ...broken, cached } : broken
}

interface AttemptWork {
  readonly cacheLost: number
  readonly cost: bigint | undefined
  readonly charged: PricedValues | undefined
  readonly prefix: PrefixBreak | undefined
}

/** For the receipt, which has what was asked for. Undefined: it was charged by that. */
const chargedOtherwise = (asked: PricedValues | undefined, values: PricedValues = {}): PricedValues | undefined =>
  PRICED_FIELDS.every((field) => asked?.[field] === values[field]) ? undefined : values

/** The lengths of a conversation and of its compaction, both by the catalogue's ratio. */
function compactionOf(
  { request, entry: { model } }: Turn,
  compacted: { readonly bytes: number; readonly hasSealed: boolean },
  owed: Owed,
): Ending['compaction'] {
  const sealedTokens = compacted.hasSealed ? owed.usage.output : 0
  return {
    tokensBefore: estimateInput(request, model),
    tokensAfter: Math.ceil(compacted.bytes / model.bytesPerToken) + sealedTokens,
  }
}

/**
 * Estimates the usage of an answer whose final count is missing: the input by the provider's count if that arrived, the output
 * by what was seen of it, and never less than the provider's last count.
 */
export function estimateUsage(produced: Produced, bounds: EndingBounds): MeteredUsage {
  const { usageSoFar, inputCounted } = produced
  const { estimator, inputEstimate, cachedEstimate, bytesPerToken } = bounds
  let input: InputUsage | undefined = usageSoFar && inputTokensOf(usageSoFar) > 0 ? usageSoFar : inputCounted
  if (input === undefined) {
    const tokens = Math.ceil(inputEstimate * estimator.inputFactor)
    const cachedInput = Math.min(Math.ceil(cachedEstimate * estimator.inputFactor), tokens)
    input = { uncachedInput: tokens - cachedInput, cachedInput, cacheWrite: 0 }
  }
  const { uncachedInput, cachedInput, cacheWrite } = input
  const { output, reasoning } =
    usageSoFar === undefined ? estimator.outputOf(produced, bytesPerToken) : outputBeyond(usageSoFar, produced, bounds)
  const estimate = { uncachedInput, cachedInput, cacheWrite, output, reasoning }
  return { ...clampUsage(estimate, bounds), estimated: true }
}

function outputBeyond(counted: Usage, produced: Produced, { estimator, bytesPerToken }: EndingBounds) {
  const { countedBytes = 0, outputBytes } = produced
  const estimated = estimator.contentTokens({ outputBytes: countedBytes }, bytesPerToken)
  // A count that grows with the answer is better than its bytes: only the bytes since then are estimated.
  if (estimated > 0 && counted.output * 2 >= estimated) {
    const since = estimator.contentTokens({ outputBytes: outputBytes - countedBytes }, bytesPerToken)
    return { output: counted.output + since, reasoning: counted.reasoning }
  }
  const { output, reasoning } = estimator.outputOf(produced, bytesPerToken)
  return { output: Math.max(output, counted.output), reasoning: Math.max(reasoning, counted.reasoning) }
}

/**
 * A complete answer with the provider's own usage improves the estimates for its lane. Returns by how much they would have been wrong
 * for this turn; undefined where there is nothing to compare.
 */
function learnFromAnswer(request: TurnRequest, used: Produced, owed: Owed, bounds: EndingBounds): EstimateMisses {
  let estimateError: number | undefined
  if (owed.cost !== 0n) {
    // While a JSON answer is being made, nothing is seen of its output.
    const isWhole = used.jsonAnswerMs !== undefined
    const estimate = estimateUsage(isWhole ? { ...used, outputBytes: 0, calls: 0 } : used, bounds)
    if (!isWhole || estimate.output > 0)
      estimateError = Number(priceUsage(bounds.price, estimate, owed.values).cost) / Number(owed.cost) - 1
  }
  // The data of images and files does not tell how many tokens text has.
  const inputEstimate = request.otherInputs.length === 0 ? bounds.inputEstimate : 0
  const countedInput = inputTokensOf(owed.usage)
  const inputEstimateError =
    inputEstimate > 0 && countedInput > 0
      ? (inputEstimate * bounds.estimator.inputFactor) / countedInput - 1
      : undefined
  bounds.estimator.learn(used, owed.usage, { bytesPerToken: bounds.bytesPerToken, inputEstimate })
  return { estimateError, inputEstimateError }
}
