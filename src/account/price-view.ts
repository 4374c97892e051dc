import { formatPricePerMillion, formatUsd } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'

/** USD per million tokens, as decimal strings. */
export interface RatesView {
  readonly input: string
  readonly cached_input: string
  readonly cache_write: string
  readonly output: string
}

export interface TermsView extends RatesView {
  readonly per_request: string
  readonly tiers: readonly (RatesView & { readonly above_input_tokens: number })[]
}

export interface PriceView extends TermsView {
  readonly version: number
}

export const ratesView = (rates: Rates): RatesView => ({
  input: formatPricePerMillion(rates.input),
  cached_input: formatPricePerMillion(rates.cachedInput),
  cache_write: formatPricePerMillion(rates.cacheWrite),
  output: formatPricePerMillion(rates.output),
})

export const priceView = (price: Price): PriceView => ({ ...termsView(price), version: price.version })

/** A price as the configuration has it, before it is numbered. */
export const termsView = (price: Omit<Price, 'version'>): TermsView => ({
  ...ratesView(price),
  per_request: formatUsd(price.perRequest),
  tiers: price.tiers.map((tier) => ({ ...ratesView(tier), above_input_tokens: tier.aboveInputTokens })),
})
