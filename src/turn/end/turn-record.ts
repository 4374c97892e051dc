import type { Model } from '../../catalog/catalog.ts'
import type { SettleOutcome } from '../../ledger/ledger.ts'
import type { CompactedTokens } from '../../model/compaction.ts'
import type { Ending, TurnOutcome } from '../../model/ending.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Problem, ProblemCode } from '../../model/problem.ts'
import type { MeteredUsage } from '../../model/usage.ts'

/** What one turn leaves for the log line and the metrics. No contents. */
export interface TurnRecord {
  readonly model: string | undefined
  readonly lane: string | undefined
  readonly outcome: TurnOutcome | 'refused'
  readonly problem: ProblemCode | undefined
  readonly usage: MeteredUsage | undefined
  readonly compaction: CompactedTokens | undefined
  readonly charge: NanoUsd | undefined
  readonly shortfall: NanoUsd | undefined
  readonly firstByteMs: number | undefined
  readonly totalMs: number
}

/** Of a turn that was admitted. */
export const recordOf = (
  model: Model,
  { outcome, owed, lane, compaction, firstByteMs, totalMs }: Ending,
  settled: SettleOutcome,
  said: Problem | undefined,
): TurnRecord => ({
  model: model.id,
  lane,
  outcome,
  problem: said?.code,
  usage: owed?.usage,
  compaction,
  charge: settled.kind === 'settled' ? settled.charge : undefined,
  shortfall: settled.kind === 'settled' ? settled.shortfall : undefined,
  firstByteMs,
  totalMs,
})

/** Of one that was not. */
export const recordOfRefused = (model: Model | undefined, problem: Problem, totalMs: number): TurnRecord => ({
  model: model?.id,
  lane: undefined,
  outcome: 'refused',
  problem: problem.code,
  usage: undefined,
  compaction: undefined,
  charge: undefined,
  shortfall: undefined,
  firstByteMs: undefined,
  totalMs,
})
