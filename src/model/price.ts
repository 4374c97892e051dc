import { type NanoUsd, nanoFromPico, type PicoPerToken, picoFromNano } from './money.ts'

/** What a token of each class costs. An absent cached or cache-write price was filled in with `input` at load. */
export interface Rates {
  readonly input: PicoPerToken
  readonly cachedInput: PicoPerToken
  readonly cacheWrite: PicoPerToken
  readonly output: PicoPerToken
}

/** Applies to the whole request when its total input is above the threshold. */
interface PriceTier extends Rates {
  readonly aboveInputTokens: number
}

/** One version of a model's price. The version is frozen in the hold: a change in mid-stream has no effect. */
export interface Price extends Rates {
  readonly version: number
  readonly perRequest: NanoUsd
  /** Sorted by threshold, lowest first. */
  readonly tiers: readonly PriceTier[]
}

export const isFree = (price: Price): boolean =>
  price.perRequest === 0n &&
  [price, ...price.tiers].every(
    (rates) => rates.input === 0n && rates.cachedInput === 0n && rates.cacheWrite === 0n && rates.output === 0n,
  )

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

/**
 * What a turn consumed, in token classes that do not overlap: the whole prompt is
 * `uncachedInput + cachedInput + cacheWrite`. Reasoning is inside `output` and stands beside it for show only.
 */
export interface Usage {
  readonly uncachedInput: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** The provider's own total has more tokens than its classes, and nothing explains them. */
  readonly doubtful?: true
}

/** The input alone, of an answer whose output is not counted yet. */
export type InputUsage = Pick<Usage, 'uncachedInput' | 'cachedInput' | 'cacheWrite'>

/** Absent is not zero: a provider that reports 0 is believed, one that reports nothing is estimated, and flagged. */
export interface MeteredUsage extends Usage {
  readonly estimated: boolean
}

export const inputTokensOf = (usage: InputUsage): number => usage.uncachedInput + usage.cachedInput + usage.cacheWrite
