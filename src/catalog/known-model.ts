import type { EffortSpellings, ModelTraits } from '../model/model-traits.ts'
import type { PicoPerToken } from '../model/money.ts'

/** What is known of a provider's model on the day of the snapshot. What is not known is left out. */
export interface KnownModel {
  readonly dialect: string
  /** As its provider calls it; other names that mean the same model are in `also`. */
  readonly id: string
  readonly also: readonly string[]
  readonly contextTokens: number | undefined
  readonly maxOutputTokens: number | undefined
  readonly inputs: readonly string[] | undefined
  readonly price: KnownPrice | undefined
  /** The day on which the price ends, where one is announced. */
  readonly priceUntil: string | undefined
  readonly traits: Partial<ModelTraits>
}

/** What a provider takes. A class that it does not name apart is undefined here, and not the price of input. */
export interface KnownRates {
  readonly input: PicoPerToken
  readonly cachedInput: PicoPerToken | undefined
  readonly cacheWrite: PicoPerToken | undefined
  readonly output: PicoPerToken
}

export interface KnownPrice extends KnownRates {
  readonly tiers: readonly (KnownRates & { readonly aboveInputTokens: number })[]
}

/**
 * Facts of models on one day, made by scripts/make-known-models.mjs. They propose: how a lane asks its model, where the
 * operator has written nothing. What a request costs, and what clients are promised, never comes from here.
 */
export interface KnownModels {
  /** The day, as YYYY-MM-DD. */
  readonly asOf: string
  readonly pricesFrom: string
  /** By dialect, then by every id that a model goes by. */
  readonly providers: ReadonlyMap<string, KnownProvider>
}

export interface KnownProvider {
  /** The wires that its traits are written for: a number of tokens means nothing where an effort is a word. */
  readonly wires: readonly string[]
  readonly models: ReadonlyMap<string, KnownModel>
}

/** The efforts that make a difference: of several words for the same, the provider's own, else the one that asks for most. */
export function knownEfforts(spellings: EffortSpellings): string[] {
  const bySpelling = new Map<string | number, string>()
  for (const [effort, spelling] of Object.entries(spellings)) {
    if (bySpelling.get(spelling) !== spelling) bySpelling.set(spelling, effort)
  }
  const chosen = new Set(bySpelling.values())
  return Object.keys(spellings).filter((effort) => chosen.has(effort))
}
