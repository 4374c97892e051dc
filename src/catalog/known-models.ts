import { createRequire } from 'node:module'
import type { EffortSpellings, ModelTraits } from '../model/effort.ts'
import { type PicoPerToken, parsePricePerMillion } from '../model/money.ts'
import type { Upstream } from './catalog.ts'

/** The file, whose shape a test checks. */
interface Snapshot {
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
  readonly price?: SnapshotTokenPrices & {
    readonly tiers?: readonly (SnapshotTokenPrices & { readonly above_input_tokens: number })[]
  }
  readonly price_until?: string
  readonly traits?: string
}

type SnapshotTokenPrices = { readonly [Class in 'input' | 'output']: string } & {
  readonly [Class in 'cached_input' | 'cache_write']?: string
}

/**
 * Facts about models on one day, made by scripts/make-known-models.mjs. They only fill gaps of the configuration: prices and
 * promises to clients never come from here.
 */
type KnownModels = ReturnType<typeof readKnownModels>

function readKnownModels({ as_of, prices_from, providers }: Snapshot) {
  const read = Object.entries(providers).map(
    ([dialect, provider]) =>
      // `wires`: those that the traits apply to. A number of tokens means nothing where an effort is a word.
      [dialect, { wires: provider.wires, models: modelsOf(dialect, provider) }] as const,
  )
  return { asOf: as_of, pricesFrom: prices_from, providers: new Map(read) }
}

/** By every id of a model. */
function modelsOf(dialect: string, { traits, models }: SnapshotProvider): ReadonlyMap<string, KnownModel> {
  const byId = new Map<string, KnownModel>()
  for (const [id, { also = [], price, ...model }] of Object.entries(models)) {
    const known: KnownModel = {
      ...{ dialect, id, also },
      contextTokens: model.context_tokens,
      maxOutputTokens: model.max_output_tokens,
      inputs: model.inputs,
      price: price && {
        ...tokenPricesOf(price),
        tiers: (price.tiers ?? []).map((tier) => ({
          aboveInputTokens: tier.above_input_tokens,
          ...tokenPricesOf(tier),
        })),
      },
      priceUntil: model.price_until,
      traits: model.traits === undefined ? {} : readTraits(traits[model.traits] ?? {}),
    }
    for (const name of [id, ...also]) byId.set(name, known)
  }
  return byId
}

const tokenPricesOf = ({ input, cached_input, cache_write, output }: SnapshotTokenPrices): KnownTokenPrices => ({
  input: tokenPriceOf(input),
  cachedInput: cached_input === undefined ? undefined : tokenPriceOf(cached_input),
  cacheWrite: cache_write === undefined ? undefined : tokenPriceOf(cache_write),
  output: tokenPriceOf(output),
})

function tokenPriceOf(written: string): PicoPerToken {
  const price = parsePricePerMillion(written)
  if (price === undefined) throw new Error(`The snapshot of models has an invalid price: ${written}`)
  return price
}

let loaded: KnownModels | undefined

/** Read once, at the first use. */
export function knownModels(): KnownModels {
  loaded ??= readKnownModels(createRequire(import.meta.url)('./known-models.json') as Snapshot)
  return loaded
}

/** By the provider's exact name; names are never interpreted. */
export const knownModel = (dialect: string, model: string): KnownModel | undefined =>
  knownModels().providers.get(dialect)?.models.get(model)

/** The known capabilities of a model on this upstream. */
export function knownTraits(
  { wire, dialect }: Pick<Upstream, 'wire' | 'dialect'>,
  model: string,
): Partial<ModelTraits> {
  if (wire === 'demo' || !knownModels().providers.get(dialect)?.wires.includes(wire)) return {}
  return knownModel(dialect, model)?.traits ?? {}
}

/** The known facts about a model. Unknown facts are undefined. */
export interface KnownModel {
  readonly dialect: string
  /** The provider's name; `also` are other names of the same model. */
  readonly id: string
  readonly also: readonly string[]
  readonly contextTokens: number | undefined
  readonly maxOutputTokens: number | undefined
  readonly inputs: readonly string[] | undefined
  readonly price: KnownPrice | undefined
  /** The day on which the price ends, if it is announced. */
  readonly priceUntil: string | undefined
  readonly traits: Partial<ModelTraits>
}

/** The provider's prices. Undefined: the provider has no such price. */
export interface KnownTokenPrices {
  readonly input: PicoPerToken
  readonly cachedInput: PicoPerToken | undefined
  readonly cacheWrite: PicoPerToken | undefined
  readonly output: PicoPerToken
}

export interface KnownPrice extends KnownTokenPrices {
  readonly tiers: readonly (KnownTokenPrices & { readonly aboveInputTokens: number })[]
}

/** The efforts that differ. Of several names for one, the provider's own, else the one that thinks hardest. */
export function knownEfforts(spellings: EffortSpellings): string[] {
  const bySpelling = new Map<string | number, string>()
  for (const [effort, spelling] of Object.entries(spellings)) {
    if (bySpelling.get(spelling) !== spelling) bySpelling.set(spelling, effort)
  }
  const chosen = new Set(bySpelling.values())
  return Object.keys(spellings).filter((effort) => chosen.has(effort))
}

/** Written names and our names. */
export const TRAIT_NAMES = [
  ['efforts', 'efforts'],
  ['sampling', 'sampling'],
  ['forced_tool_choice', 'forcedToolChoice'],
  ['json_schema', 'jsonSchema'],
  ['signed_calls', 'signedCalls'],
  ['system_prompt', 'systemPrompt'],
] as const satisfies readonly (readonly [string, keyof ModelTraits])[]

/** Traits as the configuration and the snapshot spell them. */
type WrittenTraits = {
  readonly [Name in (typeof TRAIT_NAMES)[number] as Name[0]]?: ModelTraits[Name[1]] | undefined
}

/** Absent traits stay absent, so that they do not override others. */
export function readTraits(written: WrittenTraits): Partial<ModelTraits> {
  const known = TRAIT_NAMES.filter(([name]) => written[name] !== undefined)
  return Object.fromEntries(known.map(([name, own]) => [own, written[name]]))
}
