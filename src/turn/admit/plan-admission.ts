import type { AdmitRequest } from '../../books/admit-turn.ts'
import type { Catalog, Model } from '../../catalog/catalog.ts'
import { type ConfiguredLimits, limitsForTurn } from '../../limits/limits-for-turn.ts'
import { holdTermsFor, inputBound } from '../../metering/ceiling.ts'
import type { SeenPrefixes } from '../../metering/seen-prefixes.ts'
import { estimateInput, type SizedInput } from '../../metering/size-input.ts'
import type { Allowance } from '../../model/allowance.ts'
import type { Caller } from '../../model/caller.ts'
import type { ChosenCapTerms } from '../../model/hold-terms.ts'
import type { Price } from '../../model/price.ts'
import { capOn } from '../../routing/lane-dialect.ts'
import type { Turn } from '../turn.ts'

/** Before a model has answered, this much output is assumed when tokens are counted against a limit. */
const OUTPUT_RESERVED_TOKENS = 1024

export interface AdmissionDeps {
  readonly limits: ConfiguredLimits
  readonly chosenCap: ChosenCapTerms
  readonly catalog: Pick<Catalog, 'plans'>
  readonly seen: SeenPrefixes
}

export interface AdmissionPlan {
  readonly admitRequest: AdmitRequest
  readonly inputBound: number
}

interface Planned extends Pick<Turn, 'requestId' | 'caller' | 'request' | 'claim' | 'prompt' | 'lanes'> {
  /** All that a provider may get to read. */
  readonly input: SizedInput
}

/** Gathers what admission decides on: the most the turn may cost, what it draws on, and every limit it has to pass. */
export function planAdmission(deps: AdmissionDeps, turn: Planned, model: Model, price: Price): AdmissionPlan {
  const { request, caller, requestId, claim, input, prompt } = turn
  const bound = inputBound(input, model)
  const estimate = Math.min(estimateInput(input, model), bound)
  const clientCap = clientCapOf(turn, model)
  const reserved = estimate + Math.min(clientCap ?? model.maxOutputTokens, OUTPUT_RESERVED_TOKENS) * request.choices
  const seen = prompt === undefined ? 0 : deps.seen.seenTokens(prompt)
  return {
    inputBound: bound,
    admitRequest: {
      requestId,
      account: caller.account,
      key: caller.key,
      kind: caller.kind,
      model: model.id,
      priceVersion: price.version,
      terms: holdTermsFor(price, bound, request.choices),
      clientCap,
      modelCap: model.maxOutputTokens,
      chosenCap: deps.chosenCap,
      choices: request.choices,
      inputEstimate: estimate,
      cachedEstimate: Math.min(seen, estimate),
      plan: caller.plan?.id,
      allowances: allowancesOf(deps.catalog, caller),
      claim,
      limits: limitsForTurn(deps.limits, caller, { model: model.id, tokens: reserved }),
    },
  }
}

/** As much as any lane of the turn may be asked for: the hold covers each of them. */
function clientCapOf({ request: { outputCap }, lanes }: Planned, { maxOutputTokens }: Model): number | undefined {
  if (outputCap === undefined) return undefined
  return Math.min(Math.max(...lanes.map((lane) => capOn(lane, outputCap))), maxOutputTokens)
}

/**
 * The windows of a builder key's plan, and the spend caps of either kind. A plan that the configuration does not have any
 * more has no windows, and so admission finds nothing to draw on.
 */
function allowancesOf({ plans }: Pick<Catalog, 'plans'>, { kind, plan, caps }: Caller): readonly Allowance[] {
  const windows = kind === 'builder' && plan !== undefined ? plans.get(plan.id)?.windows : undefined
  return windows === undefined ? caps : [...windows, ...caps]
}
