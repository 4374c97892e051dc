import { isDeepStrictEqual } from 'node:util'
import type { Lane, Model } from '../catalog/catalog.ts'
import {
  type KnownModel,
  type KnownPrice,
  type KnownTokenPrices,
  knownEfforts,
  knownModel,
  knownModels,
  knownTraits,
  TRAIT_NAMES,
} from '../catalog/known-models.ts'
import { type EffortSpellings, type ModelTraits, spellEffort } from '../model/effort.ts'
import { formatPricePerMillion } from '../model/money.ts'
import type { TokenPrices } from '../model/price.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { done, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { quoted } from './values.ts'

/** Compares the configured models with the known facts of their providers. It changes nothing. */
export async function compareCatalog(
  { catalog }: Pick<AdminServices, 'catalog'>,
  { model: wanted }: { readonly model?: string | undefined },
) {
  const { entries, models } = catalog()
  if (wanted === undefined) return done(catalogView(models))
  // An id with an effort names the model that it is a variant of.
  const entry = entries.get(wanted)
  if (entry !== undefined) return done(catalogView([entry.model]))
  return refuseOperation('model_not_found', `The configuration has no model ${quoted(wanted)}. See: millrace models`)
}

export type CatalogView = ReturnType<typeof catalogView>

export function catalogView(models: readonly Model[]) {
  const lanes = models.flatMap((model) => model.lanes.map((lane) => compareLane(model, lane)))
  const facts = lanes.flatMap(({ model, lane, facts }) => facts.map((fact) => ({ ...fact, of: `${model} on ${lane}` })))
  const losses = facts
    .filter(({ loss }) => loss)
    .map(
      ({ of, name, list, snapshot }) =>
        `${of}: ${name} is sold at ${list} and costs ${snapshot} USD per million tokens: a loss.`,
    )
  const smallContexts = facts
    .filter(({ name, list, snapshot }) => name === 'context_tokens' && Number(list) < Number(snapshot))
    .map(
      ({ of, list, snapshot }) =>
        `${of}: context_tokens is ${list}, but the model has ${snapshot}: longer requests are refused here.`,
    )
  return {
    /** The day of the snapshot. */
    as_of: knownModels().asOf,
    lanes,
    /** Differences that cost the operator money, or refuse requests that could be served. */
    warnings: [...losses, ...smallContexts],
  }
}

export type LaneComparison = ReturnType<typeof compareLane>

function compareLane(model: Model, lane: Lane) {
  const { upstream } = lane
  const known = upstream.wire === 'demo' ? undefined : knownModel(upstream.dialect, lane.model)
  return {
    model: model.id,
    lane: lane.id,
    upstream: upstream.id,
    wire: upstream.wire,
    dialect: upstream.dialect,
    provider_model: lane.model,
    /** Whether the snapshot has the model under exactly this name. */
    known: known !== undefined,
    facts: known === undefined ? [] : compareFacts(model, known),
    traits: compareTraits(lane, laneDialect(lane).traits, knownTraits(upstream, lane.model)),
    /** The day on which the price of the snapshot ends, if it is announced. */
    price_until: known?.priceUntil ?? null,
  }
}

export type TraitValue = ModelTraits[keyof ModelTraits]

/** Every trait that applies on this lane, and where it comes from. `dialectTraits` has the last word. */
function compareTraits(lane: Lane, dialectTraits: ModelTraits, known: Partial<ModelTraits>) {
  return TRAIT_NAMES.map(([name, own]) => {
    /** Null: nothing is assumed, and the client's value is passed on. */
    const value: TraitValue | null = dialectTraits[own] ?? null
    const isOverruled = !isDeepStrictEqual(lane.traits[own] ?? null, value)
    const listed = own in lane.listedTraits ? 'list' : own in lane.traits ? 'snapshot' : 'dialect'
    const from = isOverruled ? 'dialect' : listed
    const snapshot: TraitValue | null = known[own] ?? null
    const differs = from === 'list' && snapshot !== null && !isDeepStrictEqual(value, snapshot)
    return { name, value, from, snapshot, differs } as const
  })
}

/** One fact in the operator's list and in the snapshot. Null: absent there. */
export interface FactView {
  readonly name: string
  readonly list: FactValue | null
  readonly snapshot: FactValue | null
  readonly differs: boolean
  /** The consequence of the difference. */
  readonly note: string | null
  /** Sold below the provider's price. */
  readonly loss: boolean
}

type FactValue = string | number | readonly string[]

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
      ? 'more than the provider has: it refuses long requests'
      : list < snapshot && name === 'context_tokens'
        ? 'less than the provider has: long requests are refused here'
        : null
  return [{ name, list, snapshot, differs: list !== snapshot, note, loss: false }]
}

function compareInputs(list: readonly string[], snapshot: readonly string[]): FactView {
  const beyond = list.filter((input) => !snapshot.includes(input))
  const note = beyond.length === 0 ? null : `offered, but not known to be supported: ${beyond.join(' ')}`
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
  if (efforts === undefined) return 'any effort is accepted; one that the model lacks is sent as the nearest'
  const unknown = efforts.filter((effort) => !Object.hasOwn(spellings, effort))
  if (unknown.length === 0) return null
  return unknown
    .map((effort) => {
      const spelling = spellEffort(spellings, effort)
      return spelling === undefined ? `${effort} is left out` : `${effort} is sent as ${spelling}`
    })
    .join(', ')
}

const CLASSES = [
  ['input', 'input'],
  ['cached_input', 'cachedInput'],
  ['cache_write', 'cacheWrite'],
  ['output', 'output'],
] as const satisfies readonly (readonly [string, keyof TokenPrices])[]

/**
 * Compares the list price with the provider's, class by class, at every input length where either changes, up to the context.
 * A class without a known price is not compared.
 */
function comparePrices(list: Model['price'], known: KnownPrice, contextTokens: number): FactView[] {
  const thresholds = [...(list?.tiers ?? []), ...known.tiers].map((tier) => tier.aboveInputTokens)
  const lengths = [...new Set(thresholds)].sort((a, b) => a - b).filter((length) => length < contextTokens)
  return [0, ...lengths].flatMap((length) => {
    const ours = list && tokenPricesAt<TokenPrices>(list, list.tiers, length)
    const theirs = tokenPricesAt<KnownTokenPrices>(known, known.tiers, length)
    return CLASSES.flatMap(([name, own]) => {
      const cost = theirs[own]
      if (cost === undefined) return []
      const sold = ours?.[own]
      const loss = sold !== undefined && sold < cost
      return {
        name: length === 0 ? name : `${name} above ${length}`,
        list: sold === undefined ? null : formatPricePerMillion(sold),
        snapshot: formatPricePerMillion(cost),
        differs: sold !== cost,
        note: loss ? 'below the provider’s price: sold at a loss' : null,
        loss,
      }
    })
  })
}

/** The prices of a request whose input is just longer than a length. */
const tokenPricesAt = <Of>(
  base: Of,
  tiers: readonly (Of & { readonly aboveInputTokens: number })[],
  length: number,
): Of => tiers.findLast((tier) => tier.aboveInputTokens <= length) ?? base

/** The known models of one dialect or of all; undefined for an unknown dialect. */
export function knownViews(dialect?: string): readonly KnownView[] | undefined {
  const { providers } = knownModels()
  if (dialect !== undefined && !providers.has(dialect)) return undefined
  const chosen = [...providers].filter(([name]) => dialect === undefined || name === dialect)
  return chosen.flatMap(([, { models }]) => [...new Set(models.values())].map(knownView))
}

/** A model of the snapshot as JSON. Null: not known. */
export type KnownView = ReturnType<typeof knownView>

export const knownView = ({ dialect, id, also, traits, price, ...facts }: KnownModel) => ({
  ...{ dialect, id, also },
  efforts: traits.efforts === undefined ? null : knownEfforts(traits.efforts),
  context_tokens: facts.contextTokens ?? null,
  max_output_tokens: facts.maxOutputTokens ?? null,
  inputs: facts.inputs ?? null,
  price:
    price === undefined
      ? null
      : {
          ...tokenPricesView(price),
          tiers: price.tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...tokenPricesView(tier) })),
        },
})

const tokenPricesView = ({ input, cachedInput, cacheWrite, output }: KnownTokenPrices) => ({
  input: formatPricePerMillion(input),
  ...(cachedInput === undefined ? {} : { cached_input: formatPricePerMillion(cachedInput) }),
  ...(cacheWrite === undefined ? {} : { cache_write: formatPricePerMillion(cacheWrite) }),
  output: formatPricePerMillion(output),
})

/**
 * An entry for `models:` of the configuration, to be checked, corrected and pasted. An unknown value is a comment, so that
 * `millrace check` reports it as missing.
 */
export function proposeModel(known: KnownModel, providerModel: string): string {
  const lines = proposalLines(knownView(known), {
    // Without the vendor prefix, which belongs to the lane.
    id: providerModel.slice(providerModel.lastIndexOf('/') + 1),
    lanes: [`{ upstream: ${known.dialect}, model: ${yamlText(providerModel)}`],
    priceUntil: known.priceUntil,
  })
  return ['models:', ...lines, ''].join('\n')
}

/** One entry below `models:`. A lane is a map of YAML without its closing bracket. */
export function proposalLines(
  view: KnownView,
  {
    id,
    lanes,
    priceUntil,
  }: { readonly id: string; readonly lanes: readonly string[]; readonly priceUntil: string | undefined },
): string[] {
  const more = view.inputs?.filter((input) => input !== 'text') ?? []
  const lines = [
    `- id: ${yamlText(id)}`,
    ...(view.efforts === null ? [] : [`  efforts: [${view.efforts.join(', ')}]`]),
    ...(more.length === 0 ? [] : [`  inputs: [text]   # also supports ${more.join(' and ')}: see input_tokens_max`]),
    sizeLine('context_tokens', view.context_tokens),
    sizeLine('max_output_tokens', view.max_output_tokens),
    ...priceLines(view.price, priceUntil),
    '  lanes:',
    ...lanes.map((lane) => `    - ${lane} }`),
  ]
  return lines.map((line) => `  ${line}`)
}

export const yamlText = (text: string): string => (/^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text))

const sizeLine = (name: string, size: number | null): string =>
  size === null ? `  # ${name}: unknown, see the provider's page of the model` : `  ${name}: ${size}`

function priceLines(price: KnownView['price'], until: string | undefined): string[] {
  if (price === null) return ['  # price: unknown; a model without a price cannot be called']
  const { tiers, ...tokenPrices } = price
  const linesOf = (written: object): string[] => Object.entries(written).map(([name, price]) => `${name}: "${price}"`)
  return [
    `  price:   # the provider's price on ${knownModels().asOf}, in USD per million tokens: set your own`,
    ...(until === undefined ? [] : [`    # the provider has announced another price from ${until} on`]),
    ...linesOf(tokenPrices).map((line) => `    ${line}`),
    ...(tiers.length === 0 ? [] : ['    tiers:']),
    ...tiers.map(
      ({ above_input_tokens: above, ...tier }) =>
        `      - { above_input_tokens: ${above}, ${linesOf(tier).join(', ')} }`,
    ),
  ]
}
