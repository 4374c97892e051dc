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
