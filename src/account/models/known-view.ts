import { type KnownModel, type KnownRates, knownEfforts } from '../../catalog/known-model.ts'
import { knownModels } from '../../catalog/known-models.ts'
import { formatPricePerMillion } from '../../model/money.ts'

/** One model of the snapshot. Null: not known. */
export interface KnownView {
  readonly dialect: string
  readonly id: string
  readonly also: readonly string[]
  readonly efforts: readonly string[] | null
  readonly context_tokens: number | null
  readonly max_output_tokens: number | null
  readonly inputs: readonly string[] | null
  readonly price: KnownPriceView | null
}

export interface KnownRatesView {
  readonly input: string
  readonly cached_input?: string
  readonly cache_write?: string
  readonly output: string
}

export interface KnownPriceView extends KnownRatesView {
  readonly tiers: readonly (KnownRatesView & { readonly above_input_tokens: number })[]
}

/** What the snapshot knows, of one dialect or of all; undefined where it knows nothing of that dialect. */
export function knownViews(dialect?: string): readonly KnownView[] | undefined {
  const { providers } = knownModels()
  if (dialect !== undefined && !providers.has(dialect)) return undefined
  const chosen = [...providers].filter(([name]) => dialect === undefined || name === dialect)
  return chosen.flatMap(([, { models }]) => [...new Set(models.values())].map(knownView))
}

export const knownView = ({ dialect, id, also, traits, price, ...facts }: KnownModel): KnownView => ({
  dialect,
  id,
  also,
  efforts: traits.efforts === undefined ? null : knownEfforts(traits.efforts),
  context_tokens: facts.contextTokens ?? null,
  max_output_tokens: facts.maxOutputTokens ?? null,
  inputs: facts.inputs ?? null,
  price:
    price === undefined
      ? null
      : {
          ...ratesView(price),
          tiers: price.tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...ratesView(tier) })),
        },
})

const ratesView = ({ input, cachedInput, cacheWrite, output }: KnownRates): KnownRatesView => ({
  input: formatPricePerMillion(input),
  ...(cachedInput === undefined ? {} : { cached_input: formatPricePerMillion(cachedInput) }),
  ...(cacheWrite === undefined ? {} : { cache_write: formatPricePerMillion(cacheWrite) }),
  output: formatPricePerMillion(output),
})
