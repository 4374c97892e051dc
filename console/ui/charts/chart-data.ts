import type { Formats } from '../../lib/formats.ts'
import { sumMoney } from '../../lib/money.ts'
import type { ChartData, ChartStep } from './series.ts'

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
