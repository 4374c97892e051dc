import type { AdmitRequest } from '../books/admit-turn.ts'
import type { Catalog, Model } from '../catalog/catalog.ts'
import { type ConfiguredLimits, limitsForTurn } from '../limits/limits-for-turn.ts'
import { holdTermsFor, inputBound } from '../metering/ceiling.ts'
import { estimateTokens } from '../metering/estimate-tokens.ts'
import type { Allowance } from '../model/allowance.ts'
import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import type { Price } from '../model/price.ts'
import type { TurnRequest } from '../model/turn.ts'

/** Before a model has answered, this much output is assumed when tokens are counted against a limit. */
const OUTPUT_RESERVED_TOKENS = 1024

export interface AdmissionPlan {
  readonly request: AdmitRequest
  readonly inputBound: number
}

/** Gathers what admission decides on: the most the turn may cost, what it draws on, and every limit it has to pass. */
export function planAdmission(
  { limits: configured, catalog }: { readonly limits: ConfiguredLimits; readonly catalog: Pick<Catalog, 'plans'> },
  call: { readonly requestId: RequestId; readonly caller: Caller; readonly turn: TurnRequest },
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
      plan: caller.plan?.id,
      allowances: allowancesOf(catalog, caller),
      claim: undefined,
      limits: limitsForTurn(configured, caller, reserved),
    },
  }
}

/**
 * The windows of a builder key's plan, and the spend caps of either kind. A plan that the configuration does not have any
 * more has no windows, and so admission finds nothing to draw on.
 */
export function allowancesOf({ plans }: Pick<Catalog, 'plans'>, { kind, plan, caps }: Caller): readonly Allowance[] {
  const windows = kind === 'builder' && plan !== undefined ? plans.get(plan.id)?.windows : undefined
  return windows === undefined ? caps : [...windows, ...caps]
}
