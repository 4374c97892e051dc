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
