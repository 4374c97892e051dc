import { createRequire } from 'node:module'
import type { ModelTraits } from '../model/model-traits.ts'
import { type PicoPerToken, parsePricePerMillion } from '../model/money.ts'
import type { Upstream } from './catalog.ts'
import type { KnownModel, KnownModels, KnownRates } from './known-model.ts'
import { readTraits, type WrittenTraits } from './written-traits.ts'

/** The file, whose shape a test checks. */
export interface Snapshot {
  readonly as_of: string
  readonly prices_from: string
  readonly providers: Readonly<Record<string, SnapshotProvider>>
}

interface SnapshotProvider {
  readonly wires: readonly string[]
  readonly traits: Readonly<Record<string, WrittenTraits>>
  readonly models: Readonly<Record<string, SnapshotModel>>
}

interface SnapshotModel {
  readonly also?: readonly string[]
  readonly context_tokens?: number
  readonly max_output_tokens?: number
  readonly inputs?: readonly string[]
  readonly price?: SnapshotRates & {
    readonly tiers?: readonly (SnapshotRates & { readonly above_input_tokens: number })[]
  }
  readonly price_until?: string
  readonly traits?: string
}

interface SnapshotRates {
  readonly input: string
  readonly cached_input?: string
  readonly cache_write?: string
  readonly output: string
}

function readKnownModels({ as_of, prices_from, providers }: Snapshot): KnownModels {
  const read = Object.entries(providers).map(
    ([dialect, provider]) => [dialect, { wires: provider.wires, models: modelsOf(dialect, provider) }] as const,
  )
  return { asOf: as_of, pricesFrom: prices_from, providers: new Map(read) }
}

function modelsOf(dialect: string, { traits, models }: SnapshotProvider): Map<string, KnownModel> {
  const byId = new Map<string, KnownModel>()
  for (const [id, { also = [], price, ...model }] of Object.entries(models)) {
    const known: KnownModel = {
      dialect,
      id,
      also,
      contextTokens: model.context_tokens,
      maxOutputTokens: model.max_output_tokens,
      inputs: model.inputs,
      price: price && {
        ...ratesOf(price),
        tiers: (price.tiers ?? []).map((tier) => ({ aboveInputTokens: tier.above_input_tokens, ...ratesOf(tier) })),
      },
      priceUntil: model.price_until,
      traits: model.traits === undefined ? {} : readTraits(traits[model.traits] ?? {}),
    }
    for (const name of [id, ...also]) byId.set(name, known)
  }
  return byId
}

const ratesOf = ({ input, cached_input, cache_write, output }: SnapshotRates): KnownRates => ({
  input: rateOf(input),
  cachedInput: cached_input === undefined ? undefined : rateOf(cached_input),
  cacheWrite: cache_write === undefined ? undefined : rateOf(cache_write),
  output: rateOf(output),
})

function rateOf(written: string): PicoPerToken {
  const rate = parsePricePerMillion(written)
  if (rate === undefined) throw new Error(`The snapshot of models has a price that is none: ${written}`)
  return rate
}

let loaded: KnownModels | undefined

/** Read when somebody first asks, and once. */
export function knownModels(): KnownModels {
  loaded ??= readKnownModels(createRequire(import.meta.url)('./known-models.json') as Snapshot)
  return loaded
}

/** By the exact name that the provider knows it by: nothing is ever read out of a name. */
export const knownModel = (dialect: string, model: string): KnownModel | undefined =>
  knownModels().providers.get(dialect)?.models.get(model)

/** How a model on this upstream wants to be asked, as far as the snapshot knows. */
export function knownTraits(
  { wire, dialect }: Pick<Upstream, 'wire' | 'dialect'>,
  model: string,
): Partial<ModelTraits> {
  if (wire === 'demo' || !knownModels().providers.get(dialect)?.wires.includes(wire)) return {}
  return knownModel(dialect, model)?.traits ?? {}
}
