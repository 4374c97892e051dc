import type { AnswerOf } from '../../../src/contract/console-api.ts'
import type { Formats } from '../../lib/formats.ts'
import { nanoOf, sumMoney } from '../../lib/money.ts'
import { inputTokens } from '../../ui/values.tsx'

export type Used = AnswerOf<'GET /usage'>['total']

export const MEASURES = [
  ...(['money', 'wallet', 'plan', 'requests', 'failed'] as const),
  ...(['tokens', 'input', 'cached', 'cache_write', 'output', 'reasoning'] as const),
] as const
export type Measure = (typeof MEASURES)[number]
export type MeasureGroup = 'money' | 'requests' | 'tokens' | 'failed'

export const MONEY_PARTS = ['money', 'wallet', 'plan'] as const
export const TOKEN_PARTS = ['tokens', 'input', 'cached', 'cache_write', 'output', 'reasoning'] as const

export function groupOf(measure: Measure): MeasureGroup {
  if (measure === 'requests' || measure === 'failed') return measure
  return MONEY_PARTS.some((part) => part === measure) ? 'money' : 'tokens'
}

const MONEY: Readonly<Record<string, (used: Used) => string>> = {
  money: ({ wallet, plan }) => sumMoney(wallet, plan),
  wallet: ({ wallet }) => wallet,
  plan: ({ plan }) => plan,
}

const COUNTS: Readonly<Record<string, (used: Used) => number>> = {
  requests: ({ requests }) => requests,
  failed: ({ failed }) => failed,
  tokens: (used) => inputTokens(used) + used.output,
  input: ({ uncached_input }) => uncached_input,
  cached: ({ cached_input }) => cached_input,
  cache_write: ({ cache_write }) => cache_write,
  output: ({ output }) => output,
  reasoning: ({ reasoning }) => reasoning,
}

/** For drawing only: money becomes a float here. */
export const drawn = (used: Used, measure: Measure): number =>
  COUNTS[measure]?.(used) ?? Number(MONEY[measure]?.(used) ?? 0)

/** With all digits, for the readout and the table. */
export function written(used: Used, measure: Measure, formats: Formats): string {
  const count = COUNTS[measure]?.(used)
  return count === undefined ? formats.exactMoney(MONEY[measure]?.(used) ?? '0.00') : formats.count(count)
}

export const isNothing = (used: Used): boolean => used.requests === 0 && nanoOf(sumMoney(used.wallet, used.plan)) === 0n

const COUNTED = ['requests', 'failed', 'uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const

export function sumUsed(rows: readonly Used[]): Used {
  const counted = COUNTED.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)] as const)
  return {
    ...(Object.fromEntries(counted) as Record<(typeof COUNTED)[number], number>),
    wallet: sumMoney(...rows.map(({ wallet }) => wallet)),
    plan: sumMoney(...rows.map(({ plan }) => plan)),
  }
}

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
