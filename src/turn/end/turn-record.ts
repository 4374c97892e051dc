import type { Model } from '../../catalog/catalog.ts'
import type { SettleOutcome } from '../../ledger/ledger.ts'
import type { Ending } from '../../model/ending.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Problem, ProblemCode } from '../../model/problem.ts'
import type { MeteredUsage } from '../../model/usage.ts'

/** What one turn leaves for the log line and the metrics, side by side as both name it. No contents. */
export interface TurnRecord extends Partial<Pick<Ending, 'lane' | 'attempts' | 'compaction' | 'firstByteMs'>> {
  readonly model: string | undefined
  readonly outcome: Ending['outcome'] | 'refused'
  readonly problem: ProblemCode | undefined
  readonly usage?: MeteredUsage | undefined
  readonly charge?: NanoUsd | undefined
  readonly shortfall?: NanoUsd | undefined
  readonly totalMs: number
  /** How far an estimate would have been from the true charge, in proportion, where both are known. */
  readonly estimateError?: number | undefined
}

interface Ended {
  readonly settled: SettleOutcome
  readonly said: Problem | undefined
  readonly estimateError: number | undefined
}

/** Of a turn that was admitted. */
export const recordOf = (
  model: Model,
  { outcome, owed, lane, attempts, compaction, firstByteMs, totalMs }: Ending,
  { settled, said, estimateError }: Ended,
): TurnRecord => ({
  model: model.id,
  lane,
  attempts,
  outcome,
  problem: said?.code,
  usage: owed?.usage,
  compaction,
  charge: settled.kind === 'settled' ? settled.charge : undefined,
  shortfall: settled.kind === 'settled' ? settled.shortfall : undefined,
  firstByteMs,
  totalMs,
  estimateError,
})

/** Of one that was not. */
export const recordOfRefused = (model: Model | undefined, said: Problem, totalMs: number): TurnRecord => ({
  model: model?.id,
  outcome: 'refused',
  problem: said.code,
  totalMs,
})
