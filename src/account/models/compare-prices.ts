import type { KnownPrice, KnownRates } from '../../catalog/known-model.ts'
import { formatPricePerMillion } from '../../model/money.ts'
import type { Price, Rates } from '../../model/price.ts'

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

export type FactValue = string | number | readonly string[]

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
export function comparePrices(list: ListPrice | undefined, known: KnownPrice, contextTokens: number): FactView[] {
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
