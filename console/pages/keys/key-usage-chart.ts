import type { AnswerOf } from '../../../src/contract/console-api.ts'
import type { Formats } from '../../lib/formats.ts'
import { nanoOf, sumMoney } from '../../lib/nano.ts'
import type { ChartData } from '../../ui/charts/series.ts'

type Usage = AnswerOf<'GET /usage'>
type Used = Usage['total']

/** Whoever paid: for one key only one of the two ever does. */
export const paidFor = ({ wallet, plan }: Pick<Used, 'wallet' | 'plan'>): string => sumMoney(wallet, plan)

const NANO_PER_USD = 1e9
/** For the length of a bar; what is read comes from the exact text. */
const lengthOf = (amount: string): number => Number(nanoOf(amount)) / NANO_PER_USD

/** Usage of a key as bars: a day each, stacked by model. */
export function keyUsageChart(usage: Usage, formats: Formats, words: { caption: string; rest: string }): ChartData {
  const textOf = (used: Used) => formats.exactMoney(paidFor(used))
  return {
    caption: words.caption,
    steps: usage.steps.map((step) => ({ id: step, short: formats.shortDay(step), long: formats.day(step) })),
    series: usage.series.map(({ id, name, steps }) => ({
      id: id ?? 'rest',
      name: id === null ? words.rest : name,
      values: steps.map((used) => lengthOf(paidFor(used))),
      texts: steps.map(textOf),
    })),
    totals: usage.total_steps.map(textOf),
    tick: (value) => formats.money(value.toFixed(9)),
  }
}
