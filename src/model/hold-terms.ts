import { type NanoUsd, nanoFromPico, picoFromNano } from './money.ts'

/**
 * The dearest a turn may become, as a straight line over its output cap. `metering/ceiling` draws it from the price and
 * the bounds of the request; `books` needs only the line to decide which cap the money covers.
 */
export interface HoldTerms {
  /** Input bound × the dearest input class of the dearest tier that the input bound can reach. */
  readonly inputPico: bigint
  /** Output rate of the dearest reachable tier × the number of choices. */
  readonly outputPicoPerToken: bigint
  readonly perRequest: NanoUsd
}

/** How a cap is chosen for a request that names none, when the money does not cover the model's own maximum. */
export interface ChosenCapTerms {
  /** Of what is available after the input, so that a second request still finds some. */
  readonly sharePercent: number
  /** Never below this: a shorter answer helps nobody. */
  readonly tokensMin: number
}

export const holdFor = (terms: HoldTerms, outputCap: number): NanoUsd =>
  (nanoFromPico(terms.inputPico + BigInt(outputCap) * terms.outputPicoPerToken) + terms.perRequest) as NanoUsd

/** How many output tokens `money` covers after the input bound, or undefined when it does not even cover that. */
export function tokensCovered(terms: HoldTerms, money: bigint): number | undefined {
  const left = picoFromNano(money - terms.perRequest) - terms.inputPico
  if (left < 0n) return undefined
  if (terms.outputPicoPerToken === 0n) return Number.MAX_SAFE_INTEGER
  const tokens = left / terms.outputPicoPerToken
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens)
}
