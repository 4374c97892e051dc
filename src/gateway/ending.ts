import type { Model } from '../catalog/catalog.ts'
import { msBetween } from '../lib/clock.ts'
import { assertNever } from '../lib/types.ts'
import type { Attempt, Ending, Owed, TurnOutcome } from '../model/ending.ts'
import type { Price } from '../model/price.ts'
import { type InputUsage, inputTokensOf, type MeteredUsage, type Usage } from '../model/usage.ts'
import { estimateInput, estimateTokens } from '../pricing/estimate.ts'
import type { LaneRate } from '../pricing/lane-rates.ts'
import { clampUsage, inputWithin, priceUsage } from '../pricing/price.ts'
import type { Produced, Run, RunFate } from './attempt.ts'
import { laneCap } from './attempt.ts'
import type { StopReason } from './cancellation.ts'
import type { RunningTurn } from './turn.ts'

/** What an ending means for the money; only recovery decides for itself. `docs/operate/charges.md` is the published table. */
export interface Resolution {
  readonly outcome: TurnOutcome
  /** Undefined: nothing is charged. */
  readonly owed: Owed | undefined
}

export interface EndingBounds extends EstimateBounds {
  readonly model: Model
  readonly price: Price
  /** The head has gone out with 200; before it, the client is told a status that must not cost anything. */
  readonly headGone: boolean
}

export function boundsOf(turn: RunningTurn, { lane }: Run, rate: LaneRate): EndingBounds {
  const { entry, price, inputBound, admitRequest, hold, request, sink } = turn
  return {
    rate,
    bytesPerToken: entry.model.bytesPerToken,
    model: entry.model,
    price,
    inputBound,
    inputEstimate: admitRequest.inputEstimate,
    cachedEstimate: admitRequest.cachedEstimate,
    outputBound: (lane ? laneCap(turn, lane) : hold.cap) * request.choices,
    headGone: sink.phase !== 'quiet',
  }
}

export function resolveEnding(run: Run, bounds: EndingBounds): Resolution {
  const { fate } = run
  switch (fate.kind) {
    case 'finished':
      return fate.unheard ? unheard(run, fate.used, bounds) : charge('completed', fate.used, bounds)
    case 'broken-off':
      return charge('upstream_failed', fate.used, bounds)
    case 'stopped': {
      const outcome = STOPPED_OUTCOMES[fate.reason]
      // Before the provider's 2xx head it has not accepted the request: a cancel costs nothing.
      if (!fate.accepted && !wasMade(fate, bounds)) return free(outcome)
      if (fate.reason === 'client-gone') return unheard(run, fate.used, bounds)
      // An answer of 503 is free, whatever the provider has begun.
      return bounds.headGone ? charge(outcome, fate.used, bounds) : free(outcome)
    }
    case 'failed':
      return free('upstream_failed')
    case 'withheld':
      return free('internal_error')
    default:
      return assertNever(fate)
  }
}

/** Its client went so late that the provider had been making its JSON answer for a while, as others of the lane show. */
const wasMade = ({ reason, used }: Extract<RunFate, { kind: 'stopped' }>, { rate, bytesPerToken }: EndingBounds) =>
  reason === 'client-gone' && rate.outputOf(used, bytesPerToken).output > 0

/** The client went before its answer was whole: it pays for what was produced, unless the operator does. */
function unheard({ lane }: Run, used: Produced, bounds: EndingBounds): Resolution {
  if (lane?.upstream.disconnectPolicy === 'cancel_free') return free('client_gone')
  return charge('client_gone', used, bounds)
}

const STOPPED_OUTCOMES = {
  'client-gone': 'client_gone',
  draining: 'drained',
  'ledger-gone': 'ledger_unavailable',
} as const satisfies Record<StopReason, TurnOutcome>

function charge(outcome: TurnOutcome, produced: Produced, bounds: EndingBounds): Resolution {
  const usage = usageOf(produced, bounds)
  const owed = { usage, ...priceUsage(bounds.price, usage) }
  return { outcome, owed }
}

const free = (outcome: TurnOutcome): Resolution => ({ outcome, owed: undefined })

/**
 * The provider's own count where it told one, else an estimate (`gateway/ending.ts`). A count of input beyond the bound is believed:
 * a provider may put instructions of its own before the model. It is charged as far as the hold goes, and the rest is shortfall.
 * A count that no model can have read is a fault of the provider: it is cut to the bound and flagged, as is output past the cap.
 */
function usageOf(produced: Produced, bounds: EndingBounds): MeteredUsage {
  const { usage } = produced
  if (!usage) return estimateUsage(produced, bounds)
  const inputTokens = inputWithin(usage, bounds.inputBound, bounds.model.contextTokens)
  return clampUsage(usage, { inputTokens, outputTokens: bounds.outputBound })
}

/** The ending of a turn whose money is resolved, but for whether its answer is kept. */
export function endingOf(turn: RunningTurn, run: Run, resolution: Resolution, nowTicks: number): Ending {
  const { startedAt } = turn
  const { lane, firstContentAt } = run
  return {
    outcome: resolution.outcome,
    owed: resolution.owed,
    lane: lane?.id,
    attempts: withCacheLost(turn, run, resolution),
    firstByteMs: firstContentAt === undefined ? undefined : msBetween(startedAt, firstContentAt),
    totalMs: msBetween(startedAt, nowTicks),
    compaction: compactionOf(turn, run, resolution),
    kept: false,
  }
}

/** What a conversation pays for as new, because it goes on where nobody has its beginning in a cache. */
function withCacheLost(
  { cameFrom, admitRequest }: RunningTurn,
  { attempts, lane }: Run,
  { owed }: Resolution,
): readonly Attempt[] {
  const last = attempts.at(-1)
  if (!owed || !last || cameFrom === undefined || lane?.origin === cameFrom) return attempts
  const cacheLost = admitRequest.cachedEstimate - owed.usage.cachedInput
  return cacheLost > 0 ? [...attempts.slice(0, -1), { ...last, cacheLost }] : attempts
}

/** How long the conversation was, and how long what stands in its place is: both by the catalogue's ratio. */
function compactionOf({ request, entry }: RunningTurn, { fate }: Run, { owed }: Resolution): Ending['compaction'] {
  const compacted = fate.kind === 'finished' ? fate.answer.compacted : undefined
  if (!compacted || !owed) return undefined
  const { model } = entry
  const sealedTokens = compacted.hasSealed ? owed.usage.output : 0
  return {
    tokensBefore: estimateInput(request, model),
    tokensAfter: estimateTokens(compacted.bytes, model.bytesPerToken) + sealedTokens,
  }
}

/** What an estimate rests on, beside what was seen of the answer. */
interface EstimateBounds {
  readonly bytesPerToken: number
  readonly inputBound: number
  /** What the input is taken for by the catalogue's ratio. */
  readonly inputEstimate: number
  /** The part of the input that the provider had seen just before, in tokens. */
  readonly cachedEstimate: number
  readonly outputBound: number
  /** What was learned of the lane. */
  readonly rate: LaneRate
}

/**
 * What an answer is taken for whose final count did not come: its input by the provider's number where that was told, its
 * output by what was seen of it, and never for less than what the provider had counted when it last told.
 */
export function estimateUsage(produced: Produced, bounds: EstimateBounds): MeteredUsage {
  const { usageSoFar, inputCounted } = produced
  const input = usageSoFar && inputTokensOf(usageSoFar) > 0 ? inputOf(usageSoFar) : inputCounted
  const estimate = { ...(input ?? estimatedInput(bounds)), ...estimatedOutput(produced, bounds) }
  const within = { inputTokens: inputWithin(estimate, bounds.inputBound), outputTokens: bounds.outputBound }
  return { ...clampUsage(estimate, within), estimated: true }
}

function estimatedOutput(produced: Produced, { rate, bytesPerToken }: EstimateBounds) {
  const { usageSoFar, countedBytes = 0, outputBytes } = produced
  if (usageSoFar === undefined) return rate.outputOf(produced, bytesPerToken)
  const counted = rate.wordTokens({ outputBytes: countedBytes }, bytesPerToken)
  // A count that goes along with the answer tells more than its bytes: only what came since is estimated.
  if (counted > 0 && usageSoFar.output * 2 >= counted) {
    const since = rate.wordTokens({ outputBytes: outputBytes - countedBytes }, bytesPerToken)
    return { output: usageSoFar.output + since, reasoning: usageSoFar.reasoning }
  }
  const { output, reasoning } = rate.outputOf(produced, bytesPerToken)
  return { output: Math.max(output, usageSoFar.output), reasoning: Math.max(reasoning, usageSoFar.reasoning) }
}

const inputOf = ({ uncachedInput, cachedInput, cacheWrite }: Usage): InputUsage => ({
  uncachedInput,
  cachedInput,
  cacheWrite,
})

function estimatedInput({ inputEstimate, cachedEstimate, rate }: EstimateBounds): InputUsage {
  const input = rate.inputTokens(inputEstimate)
  const cachedInput = Math.min(rate.inputTokens(cachedEstimate), input)
  return { uncachedInput: input - cachedInput, cachedInput, cacheWrite: 0 }
}
