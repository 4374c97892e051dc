import type { TurnOutcome } from '../ledger/ledger.ts'
import type { NanoUsd } from '../model/money.ts'
import type { ProblemCode } from '../model/problem.ts'
import type { MeteredUsage } from '../model/usage.ts'

/** What one turn leaves for the log line and the metrics. No contents. */
export interface TurnRecord {
  readonly model: string | undefined
  readonly lane: string | undefined
  readonly outcome: TurnOutcome | 'refused'
  readonly problem: ProblemCode | undefined
  readonly usage: MeteredUsage | undefined
  readonly charge: NanoUsd | undefined
  readonly shortfall: NanoUsd | undefined
  readonly firstByteMs: number | undefined
  readonly totalMs: number
}
