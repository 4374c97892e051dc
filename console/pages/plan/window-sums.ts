import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { nanoOf, sumMoney } from '../../lib/money.ts'

interface WindowSums {
  readonly used: string
  readonly held: string
  /** `partly`: there are more rows than these. `moved`: all are there, and yet they are not what the bar shows. */
  readonly verdict: 'agrees' | 'partly' | 'moved'
}

/** What rows come to, held against the window that came with them: charges make `used`, holds of what runs make `held`. */
export function windowSums(
  window: Pick<PlanWindow, 'used' | 'held'>,
  rows: readonly WindowRow[],
  { hasMore }: { hasMore: boolean },
): WindowSums {
  const used = sumMoney(...rows.map(({ charge }) => charge ?? '0'))
  const held = sumMoney(...rows.filter(({ state }) => state === 'open').map(({ hold }) => hold))
  const isSame = nanoOf(used) === nanoOf(window.used) && nanoOf(held) === nanoOf(window.held)
  return { used, held, verdict: hasMore ? 'partly' : isSame ? 'agrees' : 'moved' }
}

export type Plan = AnswerOf<'GET /plan'>
export type PlanWindow = Plan['windows'][number]
export type WindowRow = AnswerOf<'GET /plan/windows/:window'>['items'][number]
