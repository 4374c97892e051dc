import type { NanoUsd, PicoPerToken } from './money.ts'

/** What a token of each class costs. An absent cached or cache-write price was filled in with `input` at load. */
export interface Rates {
  readonly input: PicoPerToken
  readonly cachedInput: PicoPerToken
  readonly cacheWrite: PicoPerToken
  readonly output: PicoPerToken
}

/** Applies to the whole request when its total input is above the threshold. */
export interface PriceTier extends Rates {
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
