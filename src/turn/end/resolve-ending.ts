import type { Model } from '../../catalog/catalog.ts'
import { assertNever } from '../../lib/assert-never.ts'
import { clampUsage, inputWithin } from '../../metering/clamp-usage.ts'
import type { LaneRate } from '../../metering/lane-rates.ts'
import { priceUsage } from '../../metering/price-usage.ts'
import type { Owed, TurnOutcome } from '../../model/ending.ts'
import type { Price } from '../../model/price.ts'
import type { MeteredUsage } from '../../model/usage.ts'
import { laneCap } from '../lane/lane-cap.ts'
import type { Produced, Run, RunFate } from '../lane/run.ts'
import type { RunningTurn } from '../running-turn.ts'
import type { StopReason } from '../turn-stop.ts'
import { type EstimateBounds, estimateUsage } from './estimate-usage.ts'

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
  if (lane?.upstream.onClientGone === 'cancel_free') return free('client_gone')
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
 * The provider's own count where it told one, else an estimate (`estimate-usage.ts`). A count of input beyond the bound is believed:
 * a provider may put instructions of its own before the model. It is charged as far as the hold goes, and the rest is shortfall.
 * A count that no model can have read is a fault of the provider: it is cut to the bound and flagged, as is output past the cap.
 */
function usageOf(produced: Produced, bounds: EndingBounds): MeteredUsage {
  const { usage } = produced
  if (!usage) return estimateUsage(produced, bounds)
  const inputTokens = inputWithin(usage, bounds.inputBound, bounds.model.contextTokens)
  return clampUsage(usage, { inputTokens, outputTokens: bounds.outputBound })
}
