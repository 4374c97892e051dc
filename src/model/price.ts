import { type NanoUsd, nanoFromPico, type PicoPerToken, picoFromNano } from './money.ts'

/** The price of a token of each class. The catalogue fills in an absent cached or cache-write price with `input`. */
export interface TokenPrices {
  readonly input: PicoPerToken
  readonly cachedInput: PicoPerToken
  readonly cacheWrite: PicoPerToken
  readonly output: PicoPerToken
}

/** Applies to the whole request if its total input is above the threshold. */
interface PriceTier extends TokenPrices {
  readonly aboveInputTokens: number
}

/** One version of a model's price. The hold freezes the version, so that a change has no effect on running turns. */
export interface Price extends TokenPrices {
  readonly version: number
  readonly perRequest: NanoUsd
  /** Sorted by threshold, lowest first. */
  readonly tiers: readonly PriceTier[]
}

/** A price of the configuration. The ledger numbers its versions. */
export type PriceList = Omit<Price, 'version'>

export const isFree = (price: Price): boolean =>
  price.perRequest === 0n &&
  [price, ...price.tiers].every(
    (prices) => prices.input === 0n && prices.cachedInput === 0n && prices.cacheWrite === 0n && prices.output === 0n,
  )

/**
 * The maximum cost of a turn as a linear function of its output cap. `pricing/price.ts` computes it from the price and the
 * bounds of the request; the ledger uses it to decide which cap the money covers.
 */
export interface HoldTerms {
  /** Input bound × the dearest input class of the dearest tier that the input bound can reach. */
  readonly inputPico: bigint
  /** Output price of the dearest reachable tier × the number of choices. */
  readonly outputPicoPerToken: bigint
  readonly perRequest: NanoUsd
}

/** How a cap is chosen for a request without one, if the money does not cover the model's maximum. */
export interface ChosenCapTerms {
  /** Share of what is available after the input, so that a second request still finds some. */
  readonly sharePercent: number
  /** A shorter answer is useless. */
  readonly tokensMin: number
}

export const heldAmountFor = (terms: HoldTerms, outputCap: number): NanoUsd =>
  (nanoFromPico(terms.inputPico + BigInt(outputCap) * terms.outputPicoPerToken) + terms.perRequest) as NanoUsd

/** How many output tokens `money` covers after the input bound; undefined when it does not cover the input. */
export function tokensCovered(terms: HoldTerms, money: bigint): number | undefined {
  const left = picoFromNano(money - terms.perRequest) - terms.inputPico
  if (left < 0n) return undefined
  if (terms.outputPicoPerToken === 0n) return Number.MAX_SAFE_INTEGER
  const tokens = left / terms.outputPicoPerToken
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens)
}

/**
 * Token classes that do not overlap: the whole prompt is `uncachedInput + cachedInput + cacheWrite`. `reasoning` is a part
 * of `output`, for display only.
 */
export interface Usage {
  readonly uncachedInput: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** The provider's total exceeds the sum of its classes without explanation. */
  readonly doubtful?: true
}

export type InputUsage = Pick<Usage, 'uncachedInput' | 'cachedInput' | 'cacheWrite'>

/** `estimated`: the provider reported no usage. A reported 0 is believed. */
export interface MeteredUsage extends Usage {
  readonly estimated: boolean
}

export const inputTokensOf = (usage: InputUsage): number => usage.uncachedInput + usage.cachedInput + usage.cacheWrite
