import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { nanoOf, sumMoney } from '../../lib/money.ts'

interface WindowSums {
  readonly used: string
  readonly held: string
  /** `partly`: more rows can be loaded. `moved`: all rows are loaded, but their sum differs. */
  readonly verdict: 'agrees' | 'partly' | 'moved'
}

/** Adds up charges and holds and compares them with the window. */
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
