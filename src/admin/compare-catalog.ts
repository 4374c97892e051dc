import { isDeepStrictEqual } from 'node:util'
import type { Catalog, Lane, Model } from '../catalog/catalog.ts'
import {
  type KnownModel,
  type KnownPrice,
  type KnownRates,
  knownEfforts,
  knownModel,
  knownModels,
  knownTraits,
  TRAIT_NAMES,
} from '../catalog/known-models.ts'
import { type EffortSpellings, type ModelTraits, spellEffort } from '../model/effort.ts'
import { formatPricePerMillion } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { quoted } from './values.ts'

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

/** How the model is asked: what is in force, and who said so. */
export interface TraitView {
  readonly name: string
  /** Null: nothing is assumed, what the client has written goes as it is. */
  readonly value: ModelTraits[keyof ModelTraits] | null
  readonly from: 'list' | 'snapshot' | 'dialect'
  readonly snapshot: ModelTraits[keyof ModelTraits] | null
  readonly differs: boolean
}

/** Prices, sizes and words that are promised to clients: the list decides, the snapshot is only held beside it. */
function compareFacts(model: Model, known: KnownModel): FactView[] {
  const { price, contextTokens } = model
  return [
    ...(known.price === undefined ? [] : comparePrices(price, known.price, contextTokens)),
    ...compareSize('context_tokens', contextTokens, known.contextTokens),
    ...compareSize('max_output_tokens', model.maxOutputTokens, known.maxOutputTokens),
    ...(known.inputs === undefined ? [] : [compareInputs(model.inputs, known.inputs)]),
    ...(known.traits.efforts === undefined ? [] : [compareEfforts(model, known.traits.efforts)]),
  ]
}

function compareSize(name: string, list: number, snapshot: number | undefined): FactView[] {
  if (snapshot === undefined) return []
  const note =
    list > snapshot
      ? 'more than the provider has: long requests are refused there'
      : list < snapshot && name === 'context_tokens'
        ? 'less than the provider has: long requests are refused here'
        : null
  return [{ name, list, snapshot, differs: list !== snapshot, note, loss: false }]
}

function compareInputs(list: readonly string[], snapshot: readonly string[]): FactView {
  const beyond = list.filter((input) => !snapshot.includes(input))
  const note = beyond.length === 0 ? null : `offered, and not known to be read: ${beyond.join(' ')}`
  const differs = beyond.length > 0 || snapshot.some((input) => !list.includes(input))
  return { name: 'inputs', list, snapshot, differs, note, loss: false }
}

function compareEfforts({ efforts }: Model, spellings: EffortSpellings): FactView {
  const snapshot = knownEfforts(spellings)
  const list = efforts ?? null
  const same =
    list?.every((effort) => Object.hasOwn(spellings, effort)) === true &&
    snapshot.every((effort) => list.some((offered) => offered === effort))
  return { name: 'efforts', list, snapshot, differs: !same, note: noteOnEfforts(efforts, spellings), loss: false }
}

function noteOnEfforts(efforts: Model['efforts'], spellings: EffortSpellings): string | null {
  if (efforts === undefined) return 'any word is taken; one that the model does not know goes as the nearest'
  const unknown = efforts.filter((effort) => !Object.hasOwn(spellings, effort))
  if (unknown.length === 0) return null
  return unknown.map((effort) => `${effort} ${fateOf(spellEffort(spellings, effort))}`).join(', ')
}

const fateOf = (spelling: string | number | undefined): string =>
  spelling === undefined ? 'is left out' : `goes as ${spelling}`

/** Every trait as it is in force on this lane. `spoken` is its dialect as it is spoken to this model: it has the last word. */
function compareTraits(lane: Lane, spoken: ModelTraits, known: Partial<ModelTraits>): TraitView[] {
  return TRAIT_NAMES.map(([name, own]) => {
    const value = spoken[own] ?? null
    const isOverruled = !isDeepStrictEqual(lane.traits[own] ?? null, value)
    const from = isOverruled
      ? 'dialect'
      : own in lane.listedTraits
        ? 'list'
        : own in lane.traits
          ? 'snapshot'
          : 'dialect'
    const snapshot = known[own] ?? null
    const differs = from === 'list' && snapshot !== null && !isDeepStrictEqual(value, snapshot)
    return { name, value, from, snapshot, differs }
  })
}

/** One fact as the operator's list has it and as the snapshot has it. Null: nothing is said of it there. */
export interface FactView {
  readonly name: string
  readonly list: FactValue | null
  readonly snapshot: FactValue | null
  readonly differs: boolean
  /** What follows from the difference, in words. */
  readonly note: string | null
  /** Sold below what the provider takes for it. */
  readonly loss: boolean
}

type FactValue = string | number | readonly string[]

type ListPrice = Omit<Price, 'version'>

const CLASSES = [
  ['input', 'input'],
  ['cached_input', 'cachedInput'],
  ['cache_write', 'cacheWrite'],
  ['output', 'output'],
] as const satisfies readonly (readonly [string, keyof Rates])[]

/**
 * The price of the list beside that of the provider, class by class, for requests of every length that makes a difference.
 * A class that the provider does not name is not compared: what it takes for it is not known.
 */
function comparePrices(list: ListPrice | undefined, known: KnownPrice, contextTokens: number): FactView[] {
  return lengths(list, known, contextTokens).flatMap((length) => {
    const ours = list && ratesAt<Rates>(list, list.tiers, length)
    const theirs = ratesAt<KnownRates>(known, known.tiers, length)
    return CLASSES.flatMap(([name, own]) => {
      const cost = theirs[own]
      return cost === undefined ? [] : [compareRate(nameAt(name, length), ours?.[own], cost)]
    })
  })
}

const nameAt = (name: string, length: number): string => (length === 0 ? name : `${name} above ${length}`)

function compareRate(name: string, ours: bigint | undefined, theirs: bigint): FactView {
  const isLoss = ours !== undefined && ours < theirs
  return {
    name,
    list: ours === undefined ? null : formatPricePerMillion(ours),
    snapshot: formatPricePerMillion(theirs),
    differs: ours !== theirs,
    note: isLoss ? 'below what the provider takes: sold at a loss' : null,
    loss: isLoss,
  }
}

/** Where the price of either changes, as far as a request can be that long. */
function lengths(list: ListPrice | undefined, known: KnownPrice, contextTokens: number): number[] {
  const thresholds = [...(list?.tiers ?? []), ...known.tiers].map((tier) => tier.aboveInputTokens)
  return [0, ...[...new Set(thresholds)].sort((a, b) => a - b).filter((length) => length < contextTokens)]
}

/** What applies to a request whose input is just longer than that. */
const ratesAt = <Of>(base: Of, tiers: readonly (Of & { readonly aboveInputTokens: number })[], length: number): Of =>
  tiers.findLast((tier) => tier.aboveInputTokens <= length) ?? base

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

interface KnownRatesView {
  readonly input: string
  readonly cached_input?: string
  readonly cache_write?: string
  readonly output: string
}

interface KnownPriceView extends KnownRatesView {
  readonly tiers: readonly (KnownRatesView & { readonly above_input_tokens: number })[]
}

/** What the snapshot knows, of one dialect or of all; undefined where it knows nothing of that dialect. */
export function knownViews(dialect?: string): readonly KnownView[] | undefined {
  const { providers } = knownModels()
  if (dialect !== undefined && !providers.has(dialect)) return undefined
  const chosen = [...providers].filter(([name]) => dialect === undefined || name === dialect)
  return chosen.flatMap(([, { models }]) => [...new Set(models.values())].map(knownView))
}

const knownView = ({ dialect, id, also, traits, price, ...facts }: KnownModel): KnownView => ({
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

/**
 * An entry for `models:` of the configuration, to be read, corrected and pasted: from then on it is the operator's. What is
 * not known is a comment, so that `millrace check` asks for it instead of somebody believing a number that was made up.
 */
export function proposeModel(known: KnownModel, providerModel: string): string {
  const view = knownView(known)
  const { asOf } = knownModels()
  const lines = [
    `- id: ${yamlText(idOf(providerModel))}`,
    ...(view.efforts === null ? [] : [`  efforts: [${view.efforts.join(', ')}]`]),
    ...inputsLines(view.inputs),
    sizeLine('context_tokens', view.context_tokens),
    sizeLine('max_output_tokens', view.max_output_tokens),
    ...priceLines(view.price, asOf, known.priceUntil),
    '  lanes:',
    `    - { upstream: ${known.dialect}, model: ${yamlText(providerModel)} }`,
  ]
  return `models:\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** What clients write: without the vendor in front, which is the affair of the lane. */
const idOf = (providerModel: string): string => providerModel.slice(providerModel.lastIndexOf('/') + 1)

const yamlText = (text: string): string => (/^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text))

function inputsLines(inputs: readonly string[] | null): string[] {
  const more = inputs?.filter((input) => input !== 'text') ?? []
  return more.length === 0 ? [] : [`  inputs: [text]   # it also reads ${more.join(' and ')}: see input_tokens_max`]
}

const sizeLine = (name: string, size: number | null): string =>
  size === null ? `  # ${name}: not known, the provider's page of the model says it` : `  ${name}: ${size}`

function priceLines(price: KnownPriceView | null, asOf: string, until: string | undefined): string[] {
  if (price === null) return ['  # price: not known; nobody may call a model without one']
  const { tiers, ...rates } = price
  return [
    `  price:   # what the provider takes on ${asOf}, in USD per million tokens: yours is for you to set`,
    ...(until === undefined ? [] : [`    # it has announced another price from ${until} on`]),
    ...ratesOf(rates).map((line) => `    ${line}`),
    ...(tiers.length === 0 ? [] : ['    tiers:']),
    ...tiers.map(
      ({ above_input_tokens: above, ...tier }) =>
        `      - { above_input_tokens: ${above}, ${ratesOf(tier).join(', ')} }`,
    ),
  ]
}

const ratesOf = (rates: KnownRatesView): string[] => Object.entries(rates).map(([name, rate]) => `${name}: "${rate}"`)
