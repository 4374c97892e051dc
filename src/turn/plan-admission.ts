import type { AdmitRequest } from '../books/admit-turn.ts'
import type { Model } from '../catalog/catalog.ts'
import { type ConfiguredLimits, limitsForTurn } from '../limits/limits-for-turn.ts'
import { holdTermsFor, inputBound } from '../metering/ceiling.ts'
import { estimateTokens } from '../metering/estimate-tokens.ts'
import type { Price } from '../model/price.ts'
import type { TurnCall } from './turn-call.ts'

/** Before a model has answered, this much output is assumed when tokens are counted against a limit. */
const OUTPUT_RESERVED_TOKENS = 1024

export interface AdmissionPlan {
  readonly request: AdmitRequest
  readonly inputBound: number
}

/** Gathers what admission decides on: the most the turn may cost, and every limit it has to pass. */
export function planAdmission(
  configured: ConfiguredLimits,
  call: Pick<TurnCall, 'requestId' | 'caller' | 'turn' | 'once'>,
  model: Model,
  price: Price,
): AdmissionPlan {
  const { turn, caller, requestId } = call
  const bound = inputBound(turn.inputSize, model.contextTokens)
  const estimate = Math.min(estimateTokens(turn.inputSize.inputBytes, model.bytesPerToken), bound)
  const clientCap = turn.outputCap === undefined ? undefined : Math.min(turn.outputCap, model.maxOutputTokens)
  const reserved = estimate + Math.min(clientCap ?? model.maxOutputTokens, OUTPUT_RESERVED_TOKENS) * turn.choices
  return {
    inputBound: bound,
    request: {
      requestId,
      account: caller.account,
      key: caller.key,
      kind: caller.kind,
      model: model.id,
      priceVersion: price.version,
      terms: holdTermsFor(price, bound, turn.choices),
      clientCap,
      modelCap: model.maxOutputTokens,
      choices: turn.choices,
      inputEstimate: estimate,
      cachedEstimate: 0,
      allowances: [],
      claim: call.once?.claim,
      limits: limitsForTurn(configured, caller, reserved),
    },
  }
}
