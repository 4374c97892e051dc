import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { sumUsed } from './usage-measure.ts'

type Series = AnswerOf<'GET /usage'>['series'][number]

/** The number of chart colours. The last one is grey, for the rest. */
const SERIES_MAX = 8

/** Merges the series beyond the number of colours. */
export function fewSeries(series: readonly Series[]): readonly Series[] {
  if (series.length <= SERIES_MAX) return series
  const [shown, others] = [series.slice(0, SERIES_MAX - 1), series.slice(SERIES_MAX - 1)]
  const steps = (others[0]?.steps ?? []).map((_, step) => sumUsed(others.flatMap((each) => each.steps[step] ?? [])))
  return [...shown, { id: null, name: '', total: sumUsed(others.map(({ total }) => total)), steps }]
}

type Reason = AnswerOf<'GET /usage/refused'>['reasons'][number]

/** The colours left for refusal reasons. */
const REASONS_MAX = 6

/** The most frequent reasons by code, and the rest without a code. */
export function fewReasons(reasons: readonly Reason[]): readonly (Omit<Reason, 'code'> & { code: string | null })[] {
  if (reasons.length <= REASONS_MAX) return reasons
  const [shown, others] = [reasons.slice(0, REASONS_MAX - 1), reasons.slice(REASONS_MAX - 1)]
  const sumOf = (of: (reason: Reason) => number) => others.reduce((sum, reason) => sum + of(reason), 0)
  const steps = (others[0]?.steps ?? []).map((_, step) => sumOf((reason) => reason.steps[step] ?? 0))
  return [...shown, { code: null, total: sumOf(({ total }) => total), steps }]
}
