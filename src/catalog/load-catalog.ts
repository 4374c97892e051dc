import { createHash } from 'node:crypto'
import type { ModelTraits, PromptCache } from '../model/effort.ts'
import type { PriceList } from '../model/price.ts'
import type { Catalog, CatalogEntry, DatedPrice, Lane, Model, Plan, Upstream } from './catalog.ts'
import { knownTraits } from './known-models.ts'
import { variantsOf } from './resolve-model.ts'

export interface LaneDefinition {
  /** Id of an upstream. */
  readonly upstream: string
  readonly model: string
  readonly priority: number
  readonly weight: number
  /** Capabilities from the configuration. */
  readonly traits?: Partial<ModelTraits>
  /** Undefined: the whole conversation, if the price has a cache write price. */
  readonly promptCache?: PromptCache | undefined
  readonly cost?: PriceList | undefined
}

export interface ModelDefinition extends Omit<Model, 'price' | 'nextPrice' | 'lanes'> {
  readonly price: PriceList | undefined
  readonly lanes: readonly LaneDefinition[]
}

export interface CatalogDefinition {
  readonly upstreams: readonly Upstream[]
  readonly models: readonly ModelDefinition[]
  readonly plans?: readonly Plan[]
}

/** Numbers a model's price: an equal price gets the same number, a changed one the next. */
type PriceVersionOf = (modelId: string, price: PriceList) => number

/** Builds the catalog. The definition was validated, so unknown or duplicate ids are bugs. */
export function loadCatalog(
  definition: CatalogDefinition,
  priceVersionOf: PriceVersionOf,
  nextPrices: ReadonlyMap<string, DatedPrice> = new Map(),
  before: readonly Model[] = [],
): Catalog {
  const upstreams = new Map(definition.upstreams.map((upstream) => [upstream.id, upstream]))
  const former = new Map(before.map((model) => [model.id, model]))
  const models = definition.models.map((each) => {
    const model = loadModel(each, upstreams, priceVersionOf)
    return { ...model, nextPrice: nextPrices.get(each.id), formerPrice: formerPriceOf(model, former.get(each.id)) }
  })
  const entries = new Map<string, CatalogEntry>()
  for (const entry of models.flatMap(entriesOf)) {
    if (entries.has(entry.id)) throw new Error(`The model id ${entry.id} occurs twice`)
    entries.set(entry.id, entry)
  }
  return { entries, models, plans: new Map(definition.plans?.map((plan) => [plan.id, plan])) }
}

/** The price that the date of the last catalog has replaced. */
function formerPriceOf({ price }: Model, before: Model | undefined): DatedPrice | undefined {
  if (price === undefined || before?.price === undefined) return undefined
  const { nextPrice } = before
  if (nextPrice?.price.version === price.version) return { at: nextPrice.at, price: before.price }
  return before.price.version === price.version ? before.formerPrice : undefined
}

function loadModel(
  definition: ModelDefinition,
  upstreams: ReadonlyMap<string, Upstream>,
  priceVersionOf: PriceVersionOf,
): Model {
  const { price } = definition
  return {
    ...definition,
    price: price === undefined ? undefined : { ...price, version: priceVersionOf(definition.id, price) },
    lanes: definition.lanes.map((lane) => loadLane(lane, price, upstreams)),
  }
}

function loadLane(
  { upstream: upstreamId, model, priority, weight, traits = {}, promptCache, cost }: LaneDefinition,
  price: PriceList | undefined,
  upstreams: ReadonlyMap<string, Upstream>,
): Lane {
  const upstream = upstreams.get(upstreamId)
  if (upstream === undefined) throw new Error(`A lane uses the unknown upstream ${upstreamId}`)
  return {
    id: `${upstream.id}/${model}`,
    upstream,
    model,
    origin: originOf(upstream, model),
    priority,
    weight,
    traits: { ...knownTraits(upstream, model), ...traits },
    listedTraits: traits,
    // Cache writes cost more than input. Without a price for them, the operator would pay for unrequested caching.
    promptCache: promptCache ?? (price !== undefined && price.cacheWrite > price.input ? 'conversation' : 'client'),
    cost,
  }
}

/** A digest, because it contains the credential. It is compared, and stored inside seals. */
function originOf({ id, wire, baseUrl, apiKey }: Upstream, model: string): string {
  const identity = JSON.stringify([wire, baseUrl ?? id, apiKey?.reveal() ?? null, model])
  return createHash('sha256').update(identity).digest('base64url').slice(0, ORIGIN_LENGTH)
}

const ORIGIN_LENGTH = 16

const entriesOf = (model: Model): CatalogEntry[] => [
  { id: model.id, model, suffixEffort: undefined },
  ...variantsOf(model.id, model.efforts).map(({ id, effort }) => ({ id, model, suffixEffort: effort })),
]
