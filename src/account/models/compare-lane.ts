import { isDeepStrictEqual } from 'node:util'
import type { Lane, Model } from '../../catalog/catalog.ts'
import { type KnownModel, knownEfforts } from '../../catalog/known-model.ts'
import { TRAIT_NAMES } from '../../catalog/written-traits.ts'
import { spellEffort } from '../../model/effort.ts'
import type { EffortSpellings, ModelTraits } from '../../model/model-traits.ts'
import { comparePrices, type FactView } from './compare-prices.ts'

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
export function compareFacts(model: Model, known: KnownModel): FactView[] {
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
export function compareTraits(lane: Lane, spoken: ModelTraits, known: Partial<ModelTraits>): TraitView[] {
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
