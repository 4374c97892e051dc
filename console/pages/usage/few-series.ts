import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { sumUsed } from './usage-measure.ts'

type Series = AnswerOf<'GET /usage'>['series'][number]

/** The chart has so many colours; the last of them is grey, and means whatever has none of its own. */
const SERIES_MAX = 8

/** No more series than there are colours: those behind go together into the rest. */
export function fewSeries(series: readonly Series[]): readonly Series[] {
  if (series.length <= SERIES_MAX) return series
  const [shown, others] = [series.slice(0, SERIES_MAX - 1), series.slice(SERIES_MAX - 1)]
  const steps = (others[0]?.steps ?? []).map((_, step) => sumUsed(others.flatMap((each) => each.steps[step] ?? [])))
  return [...shown, { id: null, name: '', total: sumUsed(others.map(({ total }) => total)), steps }]
}
