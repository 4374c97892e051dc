import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { NaiveFacts } from './naive-facts.fixture.ts'
import { type RecordedRows, recordNaively } from './recorded-rows.fixture.ts'
import type { Step } from './sequence-steps.fixture.ts'
import type { Change, LedgerState } from './state.ts'

/** The books, the naive facts and the recorded rows of one sequence, side by side. */
export interface Beside {
  readonly ledgerState: LedgerState
  readonly facts: NaiveFacts
  readonly rows: RecordedRows
  readonly count: (what: string) => void
  readonly onChanges: (changes: readonly Change[]) => void
  at: number
  nowMicros: number
}

export type StepOf<Do extends Step['do']> = Extract<Step, { do: Do }>

/** The accounts that steps are done on. */
export const BUSY = [1, 2, 3]

/** What the books say of a step, and what the facts say. */
export function expectEqual(said: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(said, expected)) expect(said).toEqual(expected)
}

/** What a step has changed is recorded, and counted. */
export function record({ rows, count, onChanges }: Beside, changes: readonly Change[]): void {
  onChanges(changes)
  recordNaively(rows, changes)
  for (const change of changes) {
    if (change.kind === 'transferred' && change.unit !== 'usd') {
      count(`${change.unit} ${change.transferKind}${change.amount < 0n ? ' (less)' : ''}`)
    } else if (change.kind.startsWith('period-') || change.kind.startsWith('subscription-')) count(change.kind)
    else if (change.kind === 'counter-set') count(change.kind)
    else if (change.kind === 'claim-ended') count(`claim-ended: ${change.state}`)
  }
}
