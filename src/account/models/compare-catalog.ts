import type { Catalog, Lane, Model } from '../../catalog/catalog.ts'
import { knownModel, knownModels, knownTraits } from '../../catalog/known-models.ts'
import { laneDialect } from '../../routing/lane-dialect.ts'
import { quoted } from '../naming.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { compareFacts, compareTraits, type TraitView } from './compare-lane.ts'
import type { FactView } from './compare-prices.ts'

export interface CatalogView {
  /** The day of the snapshot. */
  readonly as_of: string
  readonly lanes: readonly LaneComparison[]
  /** What costs the operator money, or refuses clients what they could have, as sentences. */
  readonly warnings: readonly string[]
}

export interface LaneComparison {
  readonly model: string
  readonly lane: string
  readonly upstream: string
  readonly wire: string
  readonly dialect: string
  readonly provider_model: string
  /** Whether the snapshot knows the model by exactly this name. */
  readonly known: boolean
  readonly facts: readonly FactView[]
  readonly traits: readonly TraitView[]
  /** The day on which the price of the snapshot ends, where one is announced. */
  readonly price_until: string | null
}

/** The operator's list beside the facts that the program comes with. Nothing is changed by it. */
export async function compareCatalog(
  deps: { readonly catalog: () => Catalog },
  { model: wanted }: { readonly model?: string | undefined },
): Promise<Outcome<CatalogView>> {
  const { entries, models } = deps.catalog()
  // An id with an effort in it names the model that it is a variant of.
  const one = wanted === undefined ? undefined : entries.get(wanted)?.model
  if (wanted !== undefined && one === undefined) {
    return refused('model_not_found', `The configuration has no model ${quoted(wanted)}: see millrace models.`)
  }
  return done(catalogView(one === undefined ? models : [one]))
}

export function catalogView(models: readonly Model[]): CatalogView {
  const lanes = models.flatMap((model) => model.lanes.map((lane) => compareLane(model, lane)))
  return { as_of: knownModels().asOf, lanes, warnings: [...lanes.flatMap(lossesOf), ...lanes.flatMap(smallContextOf)] }
}

function compareLane(model: Model, lane: Lane): LaneComparison {
  const { upstream } = lane
  const known = upstream.wire === 'demo' ? undefined : knownModel(upstream.dialect, lane.model)
  const spoken = laneDialect(lane)
  return {
    model: model.id,
    lane: lane.id,
    upstream: upstream.id,
    wire: upstream.wire,
    dialect: upstream.dialect,
    provider_model: lane.model,
    known: known !== undefined,
    facts: known === undefined ? [] : compareFacts(model, known),
    traits: compareTraits(lane, spoken.traits, knownTraits(upstream, lane.model)),
    price_until: known?.priceUntil ?? null,
  }
}

const lossesOf = ({ model, lane, facts }: LaneComparison): string[] =>
  facts
    .filter(({ loss }) => loss)
    .map(
      ({ name, list, snapshot }) =>
        `${model} on ${lane}: ${name} is sold at ${list} and costs ${snapshot} USD per million tokens: a loss.`,
    )

const smallContextOf = ({ model, lane, facts }: LaneComparison): string[] =>
  facts
    .filter(({ name, list, snapshot }) => name === 'context_tokens' && Number(list) < Number(snapshot))
    .map(
      ({ list, snapshot }) =>
        `${model} on ${lane}: context_tokens is ${list}, and the model has ${snapshot}: longer requests are refused here.`,
    )
