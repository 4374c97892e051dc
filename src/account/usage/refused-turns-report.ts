import type { z } from 'zod'
import { type RefusedFilter, readRefusedBefore } from '../../content/refused-turns.ts'
import type { refusedTurnsAnswer, refusedTurnsQuery } from '../../contract/usage.ts'
import type { ProblemCode } from '../../model/problem.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { QUARTER_MS } from '../../store/usage-slices.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import type { RefusedTurnCounter } from './count-refused-turns.ts'
import { readUsageScope } from './usage-scope.ts'

export interface RefusedTurnsDeps {
  readonly db: LedgerDb
  readonly content: SqliteFile
  readonly refusedTurns: Pick<RefusedTurnCounter, 'flush' | 'firstTold'>
}

type Args = z.output<typeof refusedTurnsQuery> & { readonly account: string }

/** What was refused before it began, reason by reason and step by step; in the same steps as the usage of that range. */
export async function refusedTurnsReport(
  deps: RefusedTurnsDeps,
  args: Args,
): Promise<Outcome<z.output<typeof refusedTurnsAnswer>>> {
  const scope = await readUsageScope(deps, { ...args, by: 'kind' })
  if (scope.kind === 'refused') return scope
  const { beginnings, range } = scope.value
  const reasons = await refusedBetween(deps, args, [...beginnings, range.to])
  return done({ steps: beginnings.map(isoTime), reasons })
}

interface Reason {
  readonly code: ProblemCode
  readonly total: number
  /** Between each of the instants and the next one. */
  readonly steps: number[]
}

/** The commonest reason first; none that was not told in all that time, or too long ago to be told still. */
export async function refusedBetween(
  deps: Omit<RefusedTurnsDeps, 'db'>,
  filter: RefusedFilter,
  instants: readonly number[],
): Promise<Reason[]> {
  await deps.refusedTurns.flush()
  const firstTold = deps.refusedTurns.firstTold()
  const quarters = instants.map((at) => Math.max(Math.floor(at / QUARTER_MS), firstTold))
  const rows = await readRefusedBefore(deps.content, filter, [...new Set(quarters)])
  const totals = new Map<ProblemCode, Map<number, number>>()
  for (const { code, before, total } of rows) {
    const told = totals.get(code) ?? new Map<number, number>()
    totals.set(code, told.set(before, total))
  }
  return [...totals]
    .map(([code, told]) => ({ code, ...countsOf(told, quarters) }))
    .filter(({ total }) => total > 0)
    .sort((first, second) => second.total - first.total || (first.code < second.code ? -1 : 1))
}

function countsOf(totals: ReadonlyMap<number, number>, quarters: readonly number[]): Omit<Reason, 'code'> {
  const before = quarters.map((quarter) => totals.get(quarter) ?? 0)
  return {
    total: before.at(-1)! - before[0]!,
    steps: before.slice(1).map((total, step) => total - before[step]!),
  }
}
