import type { Formats } from '../../lib/formats.ts'
import { sumMoney } from '../../lib/money.ts'

/** What one line or one colour of bars stands for. */
export interface Series {
  readonly id: string
  readonly name: string
  /** One for each step, for drawing only: amounts of money are floats here and are never read as text. */
  readonly values: readonly number[]
  /** The same, as it is read: exact, formatted. */
  readonly texts: readonly string[]
}

export interface ChartStep {
  readonly id: string
  /** Below the axis. */
  readonly short: string
  /** In the readout and in the table. */
  readonly long: string
}

export interface ChartData {
  /** What is drawn, as a sentence: the name of the picture for whoever does not see it. */
  readonly caption: string
  readonly steps: readonly ChartStep[]
  readonly series: readonly Series[]
  /** What all series come to at each step, as it is read. */
  readonly totals?: readonly string[] | undefined
  readonly tick: (value: number) => string
  readonly unit?: 'whole' | 'any'
}

const COLOURS = 8

/** The eighth is grey and means the rest; more than that nobody tells apart. */
export const seriesColour = (index: number): string => `var(--series-${(index % COLOURS) + 1})`

export const seriesPattern = (chart: string, index: number): string => `${chart}-pattern-${index % COLOURS}`

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

/** Whole things that add up: requests, tokens. */
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

/** Money that adds up: as a float only for the length of its bars. */
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
