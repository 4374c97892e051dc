import type { Formats } from '../../lib/formats.ts'
import { sumMoney } from '../../lib/money.ts'

export interface Series {
  readonly id: string
  readonly name: string
  /** For drawing only: money is a float here. */
  readonly values: readonly number[]
  /** The values as text, exact and formatted. */
  readonly texts: readonly string[]
}

export interface ChartStep {
  readonly id: string
  /** For the axis. */
  readonly short: string
  /** For the readout and the table. */
  readonly long: string
}

export interface ChartData {
  /** The accessible name of the chart. */
  readonly caption: string
  readonly steps: readonly ChartStep[]
  readonly series: readonly Series[]
  /** The total of each step as text. */
  readonly totals?: readonly string[] | undefined
  readonly tick: (value: number) => string
  readonly unit?: 'whole' | 'any'
}

const COLOURS = 8

/** The eighth colour is grey, for the rest. */
export const seriesColour = (index: number): string => `var(--series-${(index % COLOURS) + 1})`

export const seriesPattern = (chart: string, index: number): string => `${chart}-pattern-${index % COLOURS}`

interface LabelScale {
  readonly y: (value: number) => number
  readonly gap: number
  readonly top: number
}

/** The height of each label beside its part of a stacked bar, at least `gap` apart; undefined for a part of nothing. */
export function placeLabels(values: readonly number[], { y, gap, top }: LabelScale): (number | undefined)[] {
  let below = 0
  let last = y(0) + gap
  const placed = values.map((value) => {
    if (value <= 0) return undefined
    const middle = y(below + value / 2)
    below += value
    last = Math.min(middle, last - gap)
    return last
  })
  // Those that were pushed over the top come down again, and push others.
  let ceiling = top
  return placed.reduceRight<(number | undefined)[]>((moved, at) => {
    const to = at === undefined ? undefined : Math.max(at, ceiling)
    if (to !== undefined) ceiling = to + gap
    return [to, ...moved]
  }, [])
}

interface Drawn<Part> {
  readonly caption: string
  readonly steps: readonly ChartStep[]
  readonly series: readonly Part[]
}

interface Counted {
  readonly id: string
  readonly name: string
  readonly values: readonly number[]
}

/** A chart of counts. */
export const countedChart = ({ series, ...drawn }: Drawn<Counted>, formats: Formats): ChartData => ({
  ...drawn,
  series: series.map((part) => ({ ...part, texts: part.values.map((value) => formats.count(value)) })),
  totals: drawn.steps.map((_, step) => formats.count(series.reduce((sum, { values }) => sum + (values[step] ?? 0), 0))),
  tick: formats.short,
  unit: 'whole',
})

interface Paid {
  readonly id: string
  readonly name: string
  /** Decimal strings of the API. */
  readonly amounts: readonly string[]
}

/** A chart of money. Amounts are floats only for the length of the bars. */
export const paidChart = ({ series, ...drawn }: Drawn<Paid>, formats: Formats): ChartData => ({
  ...drawn,
  series: series.map(({ amounts, ...part }) => ({
    ...part,
    values: amounts.map(Number),
    texts: amounts.map((amount) => formats.exactMoney(amount)),
  })),
  totals: drawn.steps.map((_, step) =>
    formats.exactMoney(sumMoney(...series.map(({ amounts }) => amounts[step] ?? '0'))),
  ),
  tick: formats.moneyTick,
})
