import { createHash } from 'node:crypto'
import type { ModelTraits, PromptCache } from '../model/effort.ts'
import type { Price } from '../model/price.ts'
import type { Catalog, CatalogEntry, Lane, Model, Plan, Upstream } from './catalog.ts'
import { knownTraits } from './known-models.ts'
import { variantsOf } from './resolve-model.ts'

/** A price as the operator wrote it; which version it is, the ledger knows. */
export type PriceList = Omit<Price, 'version'>

export interface LaneDefinition {
  /** Id of an upstream. */
  readonly upstream: string
  readonly model: string
  readonly priority: number
  readonly weight: number
  /** The operator's word on how the model wants to be asked. */
  readonly traits?: Partial<ModelTraits>
  /** Undefined: the whole conversation, where the price knows what keeping it costs. */
  readonly promptCache?: PromptCache | undefined
}

export interface ModelDefinition extends Omit<Model, 'price' | 'lanes'> {
  readonly price: PriceList | undefined
  readonly lanes: readonly LaneDefinition[]
}

export interface CatalogDefinition {
  readonly upstreams: readonly Upstream[]
  readonly models: readonly ModelDefinition[]
  readonly plans?: readonly Plan[]
}

/** Numbers a model's price list: the same list gets the same number, a changed one the next. */
type PriceVersionOf = (modelId: string, price: PriceList) => number

/** Builds what can be called. The definition was validated: an id that dangles or occurs twice is a broken promise. */
export function loadCatalog(definition: CatalogDefinition, priceVersionOf: PriceVersionOf): Catalog {
  const upstreams = new Map(definition.upstreams.map((upstream) => [upstream.id, upstream]))
  const models = definition.models.map((model) => loadModel(model, upstreams, priceVersionOf))
  const entries = new Map<string, CatalogEntry>()
  for (const entry of models.flatMap(entriesOf)) {
    if (entries.has(entry.id)) throw new Error(`The model id ${entry.id} is taken twice`)
    entries.set(entry.id, entry)
  }
  return { entries, models, plans: new Map(definition.plans?.map((plan) => [plan.id, plan])) }
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
  { upstream: upstreamId, model, priority, weight, traits = {}, promptCache }: LaneDefinition,
  price: PriceList | undefined,
  upstreams: ReadonlyMap<string, Upstream>,
): Lane {
  const upstream = upstreams.get(upstreamId)
  if (upstream === undefined) throw new Error(`A lane runs on ${upstreamId}, which is no upstream`)
  return {
    id: `${upstream.id}/${model}`,
    upstream,
    model,
    origin: originOf(upstream, model),
    priority,
    weight,
    traits: { ...knownTraits(upstream, model), ...traits },
    listedTraits: traits,
    promptCache: promptCache ?? cachePaidBy(price),
  }
}

/** Cache writes cost more than input. Without a price for them, the operator would pay for caching that no client asked for. */
const cachePaidBy = (price: PriceList | undefined): PromptCache =>
  price !== undefined && price.cacheWrite > price.input ? 'conversation' : 'client'

/** Digested, because the credential is in it; it is only compared, and only seen inside of seals. */
function originOf({ id, wire, baseUrl, apiKey }: Upstream, model: string): string {
  const parts = JSON.stringify([wire, baseUrl ?? id, apiKey?.reveal() ?? null, model])
  return createHash('sha256').update(parts).digest('base64url').slice(0, ORIGIN_LENGTH)
}

const ORIGIN_LENGTH = 16

function entriesOf(model: Model): CatalogEntry[] {
  const variants = variantsOf(model.id, model.efforts)
  return [
    { id: model.id, model, suffixEffort: undefined },
    ...variants.map(({ id, effort }) => ({ id, model, suffixEffort: effort })),
  ]
}
