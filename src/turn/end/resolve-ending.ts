import type { Model } from '../../catalog/catalog.ts'
import { assertNever } from '../../lib/assert-never.ts'
import { clampUsage } from '../../metering/clamp-usage.ts'
import { priceUsage } from '../../metering/price-usage.ts'
import { estimateTokens } from '../../metering/size-input.ts'
import type { Owed, TurnOutcome } from '../../model/ending.ts'
import type { Price } from '../../model/price.ts'
import type { InputUsage, MeteredUsage } from '../../model/usage.ts'
import type { Produced, Run } from '../lane/run.ts'
import type { RunningTurn } from '../running-turn.ts'
import type { StopReason } from '../turn-stop.ts'

/** What an ending means for the money; only recovery decides for itself. `docs/operate/charges.md` is the published table. */
export type Resolution =
  | {
      readonly outcome: TurnOutcome
      readonly owed: Owed
      /** What the answer says of its tokens. */
      readonly told: MeteredUsage
    }
  | { readonly outcome: TurnOutcome; readonly owed: undefined }

export interface EndingBounds {
  readonly model: Model
  readonly price: Price
  readonly inputBound: number
  /** What the input is taken for where its provider does not tell. */
  readonly inputEstimate: number
  /** The part of the input that the provider had seen just before, in tokens. */
  readonly cachedEstimate: number
  readonly outputBound: number
  /** The head has gone out with 200; before it, the client is told a status that must not cost anything. */
  readonly headGone: boolean
}

export const boundsOf = ({
  entry,
  price,
  inputBound,
  admitRequest,
  hold,
  request,
  sink,
}: RunningTurn): EndingBounds => ({
  model: entry.model,
  price,
  inputBound,
  inputEstimate: admitRequest.inputEstimate,
  cachedEstimate: admitRequest.cachedEstimate,
  outputBound: hold.cap * request.choices,
  headGone: sink.phase !== 'quiet',
})

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
      if (!fate.accepted) return free(outcome)
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
  return { outcome, owed, told: toldOf(produced, usage, bounds) }
}

const free = (outcome: TurnOutcome): Resolution => ({ outcome, owed: undefined })

/**
 * Only what the request's own bytes can become is charged. A provider may have put more before the model than it was
 * sent (its instructions for tools, a cached preamble): clients size their context by its count, so they are told it,
 * flagged, as long as the model could have read that much.
 */
function toldOf(
  { usage: counted }: Produced,
  charged: MeteredUsage,
  { model, outputBound }: EndingBounds,
): MeteredUsage {
  if (!counted || !charged.estimated) return charged
  const possible = !clampUsage(counted, { inputTokens: model.contextTokens, outputTokens: outputBound }).estimated
  return possible ? { ...counted, estimated: true } : charged
}

/** The provider's own count where it told one, within what is physically possible; else bytes by the catalogue's ratio. */
function usageOf(produced: Produced, bounds: EndingBounds): MeteredUsage {
  const within = { inputTokens: bounds.inputBound, outputTokens: bounds.outputBound }
  if (produced.usage) return clampUsage(produced.usage, within)
  const output = estimateTokens(produced.outputBytes, bounds.model.bytesPerToken)
  const estimate = { ...(produced.inputCounted ?? estimatedInput(bounds)), output, reasoning: 0 }
  return { ...clampUsage(estimate, within), estimated: true }
}

function estimatedInput({ inputEstimate, cachedEstimate }: EndingBounds): InputUsage {
  const cachedInput = Math.min(cachedEstimate, inputEstimate)
  return { uncachedInput: inputEstimate - cachedInput, cachedInput, cacheWrite: 0 }
}
